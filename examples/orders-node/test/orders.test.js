import assert from "node:assert";
import { test } from "node:test";

import { RocketMQ } from "rocketmq-testkit";

import { Shop } from "../shop.js";
import { GROUP, Warehouse } from "../warehouse.js";

function open(t, mq) {
  const shop = new Shop(mq.endpoint);
  t.after(() => shop.close());
  return shop;
}

async function staff(t, mq, ship, topic = "orders") {
  const warehouse = new Warehouse(mq.endpoint, topic, ship);
  await warehouse.start();
  t.after(() => warehouse.close());
  return warehouse;
}

function fail() {
  throw new Error("no tea");
}

test("an order that cannot be shipped is a dead letter", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  await open(t, mq).order("1001", "two teas");
  await staff(t, mq, fail);
  await mq.clock.advanceUntil({ group: GROUP, deadLetters: 1 }, "6h");
  await mq.assertInDlq({ key: "1001", group: GROUP });
});

test("a lost response stores the order twice", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  const rule = await mq.faults.add({
    when: { operation: "SendMessage", topic: "orders" },
    then: "drop_response",
    times: 1,
  });
  await open(t, mq).order("1001", "two teas");
  assert.strictEqual(await rule.fired(), 1);
  await mq.assertBodies("orders", ["two teas", "two teas"]); // the SDK has sent it again: consumers must be idempotent
});

test("an order is visible once it is paid", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["paid-orders:TRANSACTION"] });
  const shop = open(t, mq);
  await shop.orderWhenPaid("1001", "two teas");
  assert.deepStrictEqual(await mq.texts("paid-orders"), []);
  shop.pay("1001");
  await mq.clock.advanceUntil({ topic: "paid-orders", messages: 1 });
  await mq.assertCommitted({ key: "1001" });
});

test("a reminder arrives at its time", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["reminders:DELAY"] });
  const warehouse = await staff(t, mq, () => {}, "reminders");
  const instant = new Date((await mq.clock.now()).getTime() + 10 * 60_000);
  await open(t, mq).remind("1001", "bring the tea", instant);
  await mq.assertNotDelivered({ key: "1001" });
  await mq.assertDelayedUntil({ key: "1001", instant, tolerance: "1s" });
  await mq.assertAcknowledged({ key: "1001", group: GROUP, within: "1h" });
  assert.deepStrictEqual(warehouse.shipped, ["bring the tea"]);
});

test("an order is shipped at the second attempt", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  let attempts = 0;
  await staff(t, mq, () => {
    if (++attempts === 1) fail();
  });
  await open(t, mq).order("1001", "two teas");
  await mq.assertAcknowledged({ key: "1001", group: GROUP, within: "1h" });
  await mq.assertRetried({ key: "1001", group: GROUP, times: 1 });
  assert.strictEqual(attempts, 2);
});
