import assert from "node:assert";
import { test } from "node:test";

import { RocketMQ } from "rocketmq-testkit";

test("the journal is read, exported and cleared", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders", "payments"] });
  const sent = await mq.send("orders", "two teas");
  await mq.send("payments", "12 euro");
  const page = await mq.journal.read({ operation: "SendMessage", topic: "orders" });
  const [line] = page.entries;
  assert.deepStrictEqual([line.event, line.messages, page.entries.length], ["responded", [sent.id], 1]);
  assert.ok(line.now instanceof Date);
  const later = await mq.journal.read({ operation: "SendMessage", since: line.index + 1, limit: 1 });
  assert.ok(later.entries[0].index > line.index);
  const file = await mq.journal.export({ message: sent.id });
  assert.match(file, /^{"format":"rocketmq-journal"/);
  assert.match(file, /"event":"message"/);
  assert.doesNotMatch(await mq.journal.export({ messages: false }), /"event":"message"/);
  assert.strictEqual(await mq.journal.clear(), page.written);
  await assert.rejects(mq.journal.read({ event: "answer" }), { field: "event" });
});

test("the journal is followed", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders", "payments"] });
  await mq.send("orders", "before");
  const topics = [];
  for await (const line of mq.journal.follow({ operation: "SendMessage" })) {
    assert.ok(line.at instanceof Date);
    topics.push(line.topic);
    if (topics.length === 2) break;
    await mq.send("payments", "while it is followed");
  }
  assert.deepStrictEqual(topics, ["orders", "payments"]);
  for await (const line of mq.journal.follow({ operation: "SendMessage", limit: 2 })) topics.push(line.result);
  assert.deepStrictEqual(topics.slice(2), ["SUCCESS", "SUCCESS"]);
  await assert.rejects(mq.journal.follow({ event: "answer" }).next(), { field: "event" });
});

test("snapshots are restored", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  await mq.send("orders", "before");
  const kept = await mq.snapshots.create();
  assert.deepStrictEqual([kept.messages, kept.brokers], [1, ["broker-a"]]);
  const file = await mq.snapshots.save();
  await mq.send("orders", "after");
  await mq.snapshots.restore(kept.id);
  await mq.assertBodies("orders", ["before"]);
  await mq.send("orders", "after");
  await mq.snapshots.load(file);
  await mq.assertBodies("orders", ["before"]);
  assert.deepStrictEqual(await mq.snapshots.list(), [kept]);
  await mq.snapshots.delete(kept.id);
  await assert.rejects(mq.snapshots.restore(kept.id), { status: 404 });
  await assert.rejects(mq.snapshots.load(Buffer.from("no snapshot")), { name: "ControlError" });
});

test("stored messages, queues and timers are inspected", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders:NORMAL:1"] });
  const sent = await mq.send("orders", "two teas");
  await mq.send("orders", { body: "drink", properties: { DELAY: "14" } });
  const [stored] = await mq.inspect.messages("orders", { state: "stored" });
  assert.deepStrictEqual([stored.message.id, stored.dueAt, stored.record], [sent.id, null, null]);
  const [later] = await mq.inspect.messages("orders", { state: "delayed", record: true });
  assert.ok(later.dueAt - later.storedAt > 9 * 60_000);
  assert.ok(Buffer.isBuffer(later.record) && later.record.length > 0);
  const [timer] = await mq.inspect.timers();
  assert.deepStrictEqual([timer.level, timer.dueAt], [14, later.dueAt]);
  assert.strictEqual((await mq.inspect.queues("orders"))[0].end, 1);
  await assert.rejects(mq.inspect.messages("orders", { state: "lost" }), { field: "state" });
});

test("groups are inspected with their progress", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders:NORMAL:1"] });
  await mq.createGroup("warehouse", { retryMaxTimes: 3 });
  await mq.resetOffset("warehouse", "orders", "earliest");
  await mq.send("orders", "two teas");
  const [{ groups: { warehouse } }] = await mq.inspect.queues("orders");
  assert.deepStrictEqual([warehouse.committed, warehouse.lag, warehouse.suspension], [0, 1, null]);
  const group = await mq.inspect.group("warehouse");
  assert.strictEqual(group.retryMaxTimes, 3);
  assert.deepStrictEqual(await mq.inspect.groups(), [group]);
  assert.strictEqual((await mq.inspect.group("ghost")).exists, false);
  assert.deepStrictEqual(await mq.inspect.assignments("warehouse", "orders"), []);
});

test("topics, rules and configuration are inspected", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  assert.ok((await mq.inspect.topics()).some((topic) => topic.name === "orders" && !topic.system));
  await mq.faults.add({ then: "drop_response", times: 1 });
  const [rule] = await mq.inspect.rules();
  assert.deepStrictEqual([rule.kind, rule.open], ["drop_response", true]);
  await mq.brokers.configure({ popPollingSize: 7 });
  const keys = await mq.inspect.configuration("broker-a");
  const { value, origin } = keys.find((each) => each.key === "popPollingSize");
  assert.deepStrictEqual([value, origin], ["7", "changed"]);
  await assert.rejects(mq.inspect.configuration("broker-x"), { status: 404, field: "node", nearest: "broker-a" });
  await assert.rejects(mq.inspect.queues("order"), { status: 404, field: "topic", nearest: "orders" });
});

test("an emulator without clients has empty lists of clients", async (t) => {
  const { inspect } = await RocketMQ.start({ t, topics: ["orders"] });
  const lists = ["connections", "polls", "locks", "receipts", "halfMessages"].map((name) => inspect[name]());
  assert.deepStrictEqual(await Promise.all(lists), [[], [], [], [], []]);
});

test("an explanation may name the topic", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders", "payments"] });
  for (const topic of ["orders", "payments"]) await mq.send(topic, { body: topic, keys: ["1001"] });
  await assert.rejects(mq.explain("1001"), { name: "ControlError" });
  const explained = await mq.explain("1001", "billing", { topic: "payments" });
  assert.deepStrictEqual([explained.message.topic, explained.group], ["payments", "billing"]);
  const history = await mq.history("1001", { topic: "payments" });
  assert.strictEqual(history.topic, "payments");
  assert.ok(history.steps[0].at instanceof Date);
});
