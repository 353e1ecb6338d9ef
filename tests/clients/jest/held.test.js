import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { RocketMQ } from "rocketmq-testkit";

let other;
let release;

beforeAll(async () => {
  other = await RocketMQ.connect(process.env.ROCKETMQ_CONTROL_URL);
  release = await other.hold("OrderTest.pays (pid 4711)");
});
afterAll(() => release());

// The default wait ends before the limit of Jest.
test("the test that holds the emulator is named", async () => {
  await expect(RocketMQ.start()).rejects.toThrow(/OrderTest.pays \(pid 4711\) has held .* has waited 4s: to wait longer, set holdTimeout/);
});

// Jest abandons the wait after half a second, and the wait goes on.
test.failing("a test that Jest ends waits longer", () => RocketMQ.start({ holdTimeout: "1m" }), 500);

test("the next test does not find the wait of the test before", async () => {
  release();
  release = () => {};
  const mq = await RocketMQ.start({ topics: ["stock"] });
  await expect(other.hold("second", { timeout: "0s" })).rejects.toThrow(
    /^held.test.js: the next test does not find the wait of the test before \(pid \d+\) has held the emulator for /,
  );
  await mq.stop();
});

test.failing("a test that Jest ends gets the emulator later", async () => {
  release = await other.hold("OrderTest.ships (pid 4711)");
  setTimeout(release, 1000);
  await RocketMQ.start({ holdTimeout: "1m" });
}, 500);

test("the hold of the test before has no user and ends", async () => {
  (await other.hold("third", { timeout: "4s" }))();
});
