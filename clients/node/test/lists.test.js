import assert from "node:assert";
import { test } from "node:test";

import { RocketMQ } from "rocketmq-testkit";

const NOT_FOUND = { name: "ControlError", status: 404 };
const LOCAL = "org.apache.rocketmq.auth";

test("topics are listed and shown", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders", "payments:FIFO:4"] });
  assert.deepStrictEqual((await mq.topics()).map((topic) => [topic.name, topic.type]),
    [["orders", "NORMAL"], ["payments", "FIFO"]]);
  assert.ok((await mq.topics({ system: true })).length > 2);
  await mq.createTopic("payments", { queues: 6, broker: "broker-a", cluster: "DefaultCluster" });
  const { queues, brokers } = await mq.topic("payments");
  assert.deepStrictEqual([queues, brokers], [6, ["broker-a"]]);
  await assert.rejects(mq.topic("order"), NOT_FOUND);
});

test("groups are listed and shown with offsets", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders:NORMAL:1"] });
  await mq.createGroup("warehouse", { consumeEnable: false });
  assert.deepStrictEqual((await mq.groups()).map((group) => [group.name, group.consumeEnable]), [["warehouse", false]]);
  assert.ok((await mq.groups({ system: true })).length > 1);
  await mq.send("orders", "two teas");
  await mq.resetOffset("warehouse", "orders", 1);
  const { lag, offsets: [queue] } = await mq.group("warehouse");
  assert.deepStrictEqual([lag, queue.committed, queue.end, queue.inFlight], [0, 1, 1, 0]);
  await mq.deleteGroup("warehouse", { keepOffsets: true });
  await assert.rejects(mq.group("warehouse"), NOT_FOUND);
});

test("clients are listed and explained", async (t) => {
  const mq = await RocketMQ.start({ t });
  assert.deepStrictEqual(await mq.clients(), []);
  assert.match((await mq.explainClient("nobody")).sentence, /no client nobody is connected/);
});

test("brokers are listed with their configuration", async (t) => {
  const mq = await RocketMQ.start({ t });
  const [broker] = await mq.brokers.list();
  assert.deepStrictEqual([broker.name, broker.running], ["broker-a", true]);
  await mq.brokers.configure({ popPollingSize: 7 }, { broker: "broker-a" });
  assert.strictEqual((await mq.brokers.configuration()).brokers["broker-a"].popPollingSize, "7");
  await assert.rejects(mq.brokers.configure({ popPollingSize: 7 }, { broker: "broker-x" }), NOT_FOUND);
  await mq.brokers.crash("broker-a", { powerLoss: false });
});

test("scheduled events of the clock are listed", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["reminders"] });
  await mq.send("reminders", { body: "drink", properties: { DELAY: "14" } }); // ten minutes
  const events = await mq.clock.scheduled();
  const due = events.find((event) => event.kind === "delay level");
  assert.ok(due.dueAt - (await mq.clock.now()) > 9 * 60_000);
  assert.deepStrictEqual(await mq.clock.scheduled({ limit: 0 }), []);
  assert.strictEqual(await mq.clock.isFrozen(), false);
  await mq.clock.waitingAtMost("1s").advance("1m");
});

test("rules are listed with their firings", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  const odd = { name: "odd", when: { operation: "SendMessage" }, then: { respond: { code: "CONSUMER_NOT_ONLINE" } } };
  await assert.rejects(mq.faults.add(odd), { name: "ControlError" });
  const [first] = await mq.faults.addAll([
    { name: "first", when: { topic: "orders" }, then: "drop_response", nth: [1, 3] },
    { ...odd, strict: false },
  ]);
  assert.deepStrictEqual((await mq.faults.list()).map((rule) => rule.name), ["first", "odd"]);
  const { matched, rule, events } = await first.events();
  assert.deepStrictEqual([matched, rule.nth, events], [0, [1, 3], []]);
  await assert.rejects(mq.faults.addAll([{ name: "third", then: "drop_response" }, { then: "drop" }]));
  assert.strictEqual((await mq.faults.list()).length, 2);
});

test("forks are listed", async (t) => {
  const mq = await RocketMQ.start({ t });
  const fork = await mq.fork({ advertise: ["192.0.2.1"] });
  const [listed] = await mq.forks();
  assert.strictEqual(listed.control, fork.controlUrl);
  assert.match(listed.advertised.endpoint, /^192\.0\.2\.1:/);
  await fork.stop();
  assert.deepStrictEqual(await mq.forks(), []);
  await assert.rejects(mq.fork({ nameServerPort: 70_000 }), { name: "ControlError" });
});

test("transactions are listed", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["payments:TRANSACTION"] });
  assert.deepStrictEqual(await mq.halfMessages("payments"), []);
  assert.deepStrictEqual(await mq.discardedMessages(), []);
  await assert.rejects(mq.halfMessages("payment"), NOT_FOUND);
});

test("metrics and certificate are read", async (t) => {
  const mq = await RocketMQ.start({ t });
  assert.match(await mq.metrics(), /# TYPE rocketmq_/);
  assert.strictEqual((await mq.receiveMetrics()).popsInProgress, 0);
  assert.match(await mq.certificateAuthority(), /^-----BEGIN CERTIFICATE-----/);
});

test("warnings say what clients do not report", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  await mq.faults.add({ when: { topic: "ordres" }, then: "drop_response" });
  const [warning] = await mq.warnings();
  assert.strictEqual(warning.kind, "faults");
  assert.match(warning.text, /ordres/);
});

test("users are created where brokers keep them", async (t) => {
  const user = { name: "shop", password: "secret", allow: { "Topic:orders": ["Pub", "Get"] }, deny: {} };
  await assert.rejects((await RocketMQ.start({ t })).putUser(user), /keeps no users/);
  const args = ["authentication", "authorization"].flatMap((kind) => {
    const name = kind[0].toUpperCase() + kind.slice(1);
    return ["--set", `${kind}MetadataProvider=${LOCAL}.${kind}.provider.Local${name}MetadataProvider`];
  });
  const mq = await RocketMQ.start({ t, args });
  await mq.putUser(user);
  await mq.putUser({ name: "root", password: "secret", super: true });
});

test("mapped addresses are in routes, also after a reset", async (t) => {
  const mq = await RocketMQ.start({ t });
  const addresses = { nameServer: "127.0.0.1:1", broker: "127.0.0.1:2", endpoint: "127.0.0.1:3" };
  const mapped = await mq.mapped(addresses);
  const { nameServer, broker, endpoint } = mapped;
  assert.deepStrictEqual({ nameServer, broker, endpoint }, addresses);
  await mapped.reset();
  const { advertised } = await mq.control.get("/readyz");
  assert.deepStrictEqual([advertised["broker-a"], advertised.endpoint], ["127.0.0.1:2", "127.0.0.1:3"]);
  await mq.advertise("broker-a", null);
  assert.notStrictEqual((await mq.control.get("/readyz")).advertised?.["broker-a"], "127.0.0.1:2");
  await assert.rejects(mq.advertise("broker-x", "127.0.0.1:2"), NOT_FOUND);
});

test("a reset may choose the clock, until the next one", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  const noon = new Date("2026-01-31T12:00:00Z");
  for (const startAt of [noon, "2026-01-31T13:00:00+01:00"]) {
    await mq.reset({ startAt, time: "frozen" });
    assert.deepStrictEqual(await mq.clock.now(), noon);
    assert.deepStrictEqual((await mq.topics()).map((topic) => topic.name), ["orders"]);
  }
  await mq.reset();
  assert.ok((await mq.clock.now()) - noon > 3_600_000);
  await assert.rejects(mq.reset({ time: "frozn" }), /time="frozn": there is no such time mode; did you mean frozen\?/);
});

test("a reset may keep connections, and keeps the topics of the start", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["payments"] });
  await mq.createTopic("orders");
  await mq.reset({ keepConnections: true });
  assert.deepStrictEqual((await mq.topics()).map((topic) => topic.name), ["payments"]);
});

test("bodies may be bytes, and in order", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders:NORMAL:1"] });
  const body = Buffer.from([0, 255]);
  const sent = await mq.send("orders", body);
  await mq.send("orders", "two teas");
  await mq.assertBodies("orders", ["two teas", body]);
  await mq.assertBodies("orders", [body, "two teas"], { inOrder: true });
  await assert.rejects(mq.assertBodies("orders", ["two teas", body], { inOrder: true }), assert.AssertionError);
  await mq.assertSent({ body, id: sent.id, times: 1 });
  assert.deepStrictEqual([sent.physicalOffset, sent.compressed], [0, false]);
});
