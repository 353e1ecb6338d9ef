/** Run an Apache RocketMQ emulator in Node tests. */

export { ControlError } from "./control.js";
export { RocketMQ } from "./rocketmq.js";
