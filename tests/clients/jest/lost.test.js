import { afterEach, beforeEach, test } from "@jest/globals";
import { RocketMQ } from "rocketmq-testkit";

let mq;

beforeEach(async () => {
  mq = await RocketMQ.start();
});

afterEach(() => mq.stop());

test("the emulator ends", async () => {
  // The emulator of the variable is a fork of this one.
  await fetch(process.env.FORK, { method: "DELETE" });
});
