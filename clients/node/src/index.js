/** Run an Apache RocketMQ emulator in Node tests. */

export { ControlError } from "./control.js";
export { HoldLost } from "./hold.js";
export { RocketMQ } from "./rocketmq.js";
