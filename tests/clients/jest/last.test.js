// Jest runs this file first, because it is larger than next.test.js. Its last test waits when Jest ends it, and gets the
// emulator when the file has ended.
import { afterAll, beforeAll, test } from "@jest/globals";
import { RocketMQ } from "rocketmq-testkit";

let release;

beforeAll(async () => {
  const other = await RocketMQ.connect(process.env.ROCKETMQ_CONTROL_URL);
  release = await other.hold("OrderTest.pays (pid 4711)");
});

afterAll(() => release());

test.failing("a test that Jest ends waits longer", () => RocketMQ.start({ holdTimeout: "1m" }), 500);
