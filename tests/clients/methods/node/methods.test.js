// Calls each method of the helper, against the emulator of SHOP_CONTROL_URL, its forks, and emulators of this process.
// tests/support/busy_shop.py describes the messages and groups of the shop.
import assert from "node:assert";
import { text as textOf } from "node:stream/consumers";
import { test } from "node:test";
import { RocketMQ } from "rocketmq-testkit";

const shop = await RocketMQ.connect(process.env.SHOP_CONTROL_URL);
const HOUR = 3_600_000;

/** Return an emulator with the state of the shop and without its clients, which a row may change. */
async function copy(t) {
  const fork = await shop.fork();
  t.after(() => fork.stop());
  return fork;
}

const names = (list) => list.map((each) => each.name);
const ids = (list) => list.map((each) => each.id);
const fails = (promise, text) => assert.rejects(promise, (error) => error instanceof assert.AssertionError
  && error.message.includes(text));
const isGone = (mq) => assert.rejects(mq.clock.now(), /does the emulator run\?/);

/** An assertion, with arguments for which it holds, and others for which it fails with this text. */
const assertion = (name, holds, wrong, text) => async () => {
  await shop[name](...[holds].flat());
  await fails(shop[name](...[wrong].flat()), text);
};

const ROWS = {
  "RocketMQ.start": async (t) =>
    assert.deepStrictEqual(names(await (await RocketMQ.start({ t, topics: ["a"] })).topics()), ["a"]),
  "RocketMQ.connect": async () => assert.strictEqual((await RocketMQ.connect(shop.controlUrl)).endpoint, shop.endpoint),
  "RocketMQ.stop": async () => {
    const fork = await shop.fork();
    await fork.stop();
    await isGone(fork);
  },
  "RocketMQ.Symbol.asyncDispose": async () => {
    const fork = await shop.fork();
    await fork[Symbol.asyncDispose]();
    await isGone(fork);
  },
  "RocketMQ.reset": async (t) => {
    const mq = await copy(t);
    await mq.send("reminders", "drink");
    await mq.reset();
    await mq.assertBodies("reminders", []);
  },
  "RocketMQ.hold": async (t) => {
    const mq = await copy(t);
    const release = await mq.hold("a row");
    await assert.rejects(mq.hold("another row", { timeout: "0s" }), /^ControlError: a row has held the emulator for /);
    release();
    (await mq.hold("another row"))();
  },
  "RocketMQ.mapped": async (t) => {
    const addresses = { nameServer: "127.0.0.1:1", broker: "127.0.0.1:2", endpoint: "127.0.0.1:3" };
    const mapped = await (await copy(t)).mapped(addresses);
    assert.strictEqual((await mapped.control.get("/readyz")).advertised.endpoint, "127.0.0.1:3");
  },
  "RocketMQ.advertise": async (t) => {
    const mq = await copy(t);
    await mq.advertise("broker-a", "127.0.0.1:2");
    assert.strictEqual((await mq.control.get("/readyz")).advertised["broker-a"], "127.0.0.1:2");
  },
  "RocketMQ.fork": async (t) => assert.notStrictEqual((await copy(t)).endpoint, shop.endpoint),
  "RocketMQ.forks": async (t) => {
    const mq = await copy(t);
    const fork = await mq.fork();
    assert.deepStrictEqual((await mq.forks()).map((each) => each.control), [fork.controlUrl]);
  },
  "RocketMQ.createTopic": async (t) => {
    const mq = await copy(t);
    await mq.createTopic("stock", { type: "FIFO", queues: 3 });
    assert.strictEqual((await mq.topic("stock")).queues, 3);
  },
  "RocketMQ.topics": async () => assert.ok(names(await shop.topics()).includes("parcels")),
  "RocketMQ.topic": async () => assert.strictEqual((await shop.topic("steps")).type, "FIFO"),
  "RocketMQ.deleteTopic": async (t) => {
    const mq = await copy(t);
    await mq.deleteTopic("teas");
    assert.ok(!names(await mq.topics()).includes("teas"));
  },
  "RocketMQ.createGroup": async (t) => {
    const mq = await copy(t);
    await mq.createGroup("storage", { retryMaxTimes: 2 });
    assert.strictEqual((await mq.group("storage")).group.retryMaxTimes, 2);
  },
  "RocketMQ.groups": async () => assert.ok(names(await shop.groups()).includes("billing")),
  "RocketMQ.group": async () => assert.deepStrictEqual((await shop.group("billing")).members, ["c1"]),
  "RocketMQ.deleteGroup": async (t) => {
    const mq = await copy(t);
    await mq.deleteGroup("audit");
    assert.ok(!names(await mq.groups()).includes("audit"));
  },
  "RocketMQ.resetOffset": async (t) => {
    const mq = await copy(t);
    await mq.resetOffset("audit", "orders", "earliest");
    await mq.assertLag({ group: "audit", lag: 3 });
  },
  "RocketMQ.explainGroup": async () =>
    assert.match((await shop.explainGroup("billing")).sentence, /c1 .* 1 message in flight/),
  "RocketMQ.explainClient": async () => assert.match((await shop.explainClient("c1")).sentence, /1 message in flight/),
  "RocketMQ.clients": async () => assert.deepStrictEqual(ids(await shop.clients()).slice(0, 3), ["p1", "c1", "c2"]),
  "RocketMQ.expireClient": async () => {
    await shop.expireClient("leaving");
    assert.ok(!ids(await shop.clients()).includes("leaving"));
  },
  "RocketMQ.putUser": () => assert.rejects(shop.putUser({ name: "a", password: "b" }), /keeps no users/),
  "RocketMQ.send": async (t) => assert.strictEqual((await (await copy(t)).send("reminders", "drink")).text, "drink"),
  "RocketMQ.messages": async () =>
    assert.deepStrictEqual(ids(await shop.messages("orders")).sort(), ["M1", "M2", "M3"]),
  "RocketMQ.texts": async () => assert.deepStrictEqual((await shop.texts("orders")).length, 3),
  "RocketMQ.deadLetters": async () => assert.deepStrictEqual((await shop.deadLetters("delivery"))[0].keys, ["1"]),
  "RocketMQ.retryMessages": async () => assert.deepStrictEqual((await shop.retryMessages("delivery"))[0].keys, ["2"]),
  "RocketMQ.halfMessages": async () => assert.deepStrictEqual((await shop.halfMessages("payments"))[0].text, "open"),
  "RocketMQ.discardedMessages": async (t) => {
    const mq = await copy(t);
    assert.deepStrictEqual(await mq.discardedMessages("payments"), []);
    await mq.clock.advance("15m");
    assert.deepStrictEqual((await mq.discardedMessages("payments")).map((each) => each.text), ["open"]);
  },
  "RocketMQ.explain": async () => assert.strictEqual((await shop.explain("1001", "billing")).reason, "ACKNOWLEDGED"),
  "RocketMQ.history": async () => assert.strictEqual((await shop.history("1001")).steps[0].kind, "sent"),
  "RocketMQ.warnings": async () => assert.ok((await shop.warnings()).some((each) => each.group === "mixed")),
  "RocketMQ.metrics": async () => assert.match(await shop.metrics(), /# TYPE rocketmq_/),
  "RocketMQ.receiveMetrics": async () => assert.strictEqual((await shop.receiveMetrics()).popsInProgress, 0),
  "RocketMQ.certificateAuthority": async () =>
    assert.match(await shop.certificateAuthority(), /^-----BEGIN CERTIFICATE-----/),
  "RocketMQ.waitForConsumer": async () => {
    await shop.waitForConsumer("billing");
    await assert.rejects(shop.waitForConsumer("ghosts", { timeout: "1ms" }), { status: 504 });
  },
  "RocketMQ.waitForProducer": async () => {
    await shop.waitForProducer("shop");
    await assert.rejects(shop.waitForProducer("ghosts", { timeout: "1ms" }), { status: 504 });
  },

  "Assertions.assertBodies": assertion(
    "assertBodies",
    ["orders", ["two teas", "a coffee", "more teas"]],
    ["orders", ["two teas"]],
    "not expected",
  ),
  "Assertions.assertSent": assertion(
    "assertSent",
    { topic: "orders", tag: "a", times: 2 },
    { topic: "orders", tag: "c" },
    "no message",
  ),
  "Assertions.assertNotSent": assertion(
    "assertNotSent",
    { topic: "orders", tag: "c" },
    { topic: "orders", tag: "a" },
    "M1",
  ),
  "Assertions.assertDelivered": assertion(
    "assertDelivered",
    { message: "1001", group: "billing", client: "c1", times: 1 },
    { message: "1002" },
    "M2",
  ),
  "Assertions.assertNotDelivered": assertion("assertNotDelivered", { message: "1002" }, { message: "1001" }, "M1"),
  "Assertions.assertAcknowledged": assertion(
    "assertAcknowledged",
    { message: "1001", group: "billing" },
    { message: "1003", group: "billing" },
    "M3",
  ),
  "Assertions.assertRetried": assertion(
    "assertRetried",
    { message: "2", group: "delivery", times: 1 },
    { message: "2", group: "delivery", times: 2 },
    "M5",
  ),
  "Assertions.assertInDlq": assertion(
    "assertInDlq",
    { message: "1", group: "delivery" },
    { message: "2", group: "delivery" },
    "M5",
  ),
  "Assertions.assertOrdered": assertion(
    "assertOrdered",
    { topic: "steps", group: "kitchen", messageGroup: "table-8" },
    { topic: "steps", group: "kitchen" },
    "table-7",
  ),
  "Assertions.assertNoLoss": assertion(
    "assertNoLoss",
    { topic: "parcels", group: "delivery", key: "1" },
    { topic: "orders", group: "billing" },
    "M3",
  ),
  "Assertions.assertNoDuplicates": assertion(
    "assertNoDuplicates",
    { topic: "orders", group: "billing" },
    { topic: "orders", group: "audit" },
    "M1",
  ),
  "Assertions.assertChecked": assertion(
    "assertChecked",
    { message: "M10", times: 1 },
    { message: "M11", times: 1 },
    "M11",
  ),
  "Assertions.assertCommitted": assertion("assertCommitted", { message: "M11" }, { message: "M12" }, "M12"),
  "Assertions.assertRolledBack": assertion("assertRolledBack", { message: "M12" }, { message: "M11" }, "M11"),
  "Assertions.assertDelayedUntil": async () => {
    const instant = new Date((await shop.clock.now()).getTime() + 2 * HOUR);
    await shop.assertDelayedUntil({ message: "M13", instant, tolerance: "1m" });
    await fails(shop.assertDelayedUntil({ message: "M13", instant: new Date(instant - HOUR) }), "M13");
  },
  "Assertions.assertIdle": assertion("assertIdle", { group: "leaving" }, { group: "billing" }, "billing"),
  "Assertions.assertLag": assertion("assertLag", { group: "billing", lag: 1 }, { group: "billing", lag: 2 }, "billing"),
  "Assertions.assertConsumers": assertion(
    "assertConsumers",
    { group: "mixed", count: 2 },
    { group: "mixed", count: 1 },
    "mixed",
  ),
  "Assertions.assertSubscriptionsAgree": assertion(
    "assertSubscriptionsAgree",
    { group: "billing" },
    { group: "mixed" },
    "mixed",
  ),
  "Assertions.assertNoErrors": assertion("assertNoErrors", { client: "c1" }, {}, "refused"),

  "Clock.waitingAtMost": async (t) => (await copy(t)).clock.waitingAtMost("1s").advance("1s"),
  "Clock.isFrozen": async () => assert.strictEqual(await shop.clock.isFrozen(), true),
  "Clock.scheduled": async () => assert.strictEqual((await shop.clock.scheduled({ limit: 1 })).length, 1),
  "Clock.now": async () => assert.strictEqual((await shop.clock.now()).getUTCHours(), 12),
  "Clock.advance": async (t) => {
    const { clock } = await copy(t);
    const before = await clock.now();
    await clock.advance("1h");
    assert.strictEqual((await clock.now()) - before, HOUR);
  },
  "Clock.advanceToNext": async (t) => {
    const { clock } = await copy(t);
    const before = await clock.now();
    await clock.advanceToNext();
    assert.ok((await clock.now()) > before);
  },
  "Clock.advanceUntil": async (t) => {
    const mq = await copy(t);
    await mq.clock.advanceUntil({ topic: "teas", messages: 1 });
    await mq.assertBodies("teas", ['{"tea": "green", "grams": 99.5}']);
  },

  "Brokers.list": async () => assert.deepStrictEqual(names(await shop.brokers.list()), ["broker-a"]),
  "Brokers.configuration": async () => assert.ok("broker-a" in (await shop.brokers.configuration()).brokers),
  "Brokers.crash": async (t) => (await copy(t)).brokers.crash("broker-a", { powerLoss: false }),
  "Brokers.restart": async (t) => (await copy(t)).brokers.restart(),
  "Brokers.stop": async (t) => {
    const { brokers } = await copy(t);
    await brokers.stop("broker-a");
    assert.strictEqual((await brokers.list())[0].running, false);
  },
  "Brokers.start": async (t) => {
    const { brokers } = await copy(t);
    await brokers.stop("broker-a", { kill: true });
    await brokers.start("broker-a");
    assert.strictEqual((await brokers.list())[0].running, true);
  },
  "Brokers.configure": async (t) => {
    const { brokers } = await copy(t);
    await brokers.configure({ popPollingSize: 7 });
    assert.strictEqual((await brokers.configuration()).brokers["broker-a"].popPollingSize, "7");
  },

  "Inspection.topics": async () => assert.ok(names(await shop.inspect.topics()).includes("orders")),
  "Inspection.queues": async () => assert.strictEqual((await shop.inspect.queues("orders")).length, 2),
  "Inspection.messages": async () =>
    assert.strictEqual((await shop.inspect.messages("teas", { state: "delayed" })).length, 1),
  "Inspection.receipts": async () =>
    assert.deepStrictEqual((await shop.inspect.receipts("billing")).map((each) => each.client), ["c1"]),
  "Inspection.locks": async () =>
    assert.deepStrictEqual((await shop.inspect.locks()).map((each) => each.client), ["locker"]),
  "Inspection.timers": async () =>
    assert.deepStrictEqual((await shop.inspect.timers()).map((each) => each.messageId), ["M13"]),
  "Inspection.halfMessages": async () =>
    assert.deepStrictEqual((await shop.inspect.halfMessages()).map((each) => each.checks), [1]),
  "Inspection.groups": async () => assert.ok(names(await shop.inspect.groups()).includes("kitchen")),
  "Inspection.group": async () => assert.strictEqual((await shop.inspect.group("kitchen")).exists, true),
  "Inspection.assignments": async () =>
    assert.strictEqual((await shop.inspect.assignments("audit", "orders"))[0].client, "c2"),
  "Inspection.connections": async () => assert.strictEqual((await shop.inspect.connections())[0].client, "c1"),
  "Inspection.polls": async () =>
    assert.deepStrictEqual((await shop.inspect.polls()).map((each) => each.client), ["waiting"]),
  "Inspection.rules": async (t) => {
    const mq = await copy(t);
    await mq.faults.add({ then: "drop_response" });
    assert.strictEqual((await mq.inspect.rules())[0].kind, "drop_response");
  },
  "Inspection.configuration": async () => assert.ok((await shop.inspect.configuration("broker-a")).length > 100),

  "Journal.read": async () => assert.ok((await shop.journal.read({ client: "c1" })).entries.length > 0),
  "Journal.clear": async (t) => {
    const mq = await copy(t);
    await mq.send("reminders", "drink");
    assert.ok((await mq.journal.clear()) > 0);
    assert.deepStrictEqual((await mq.journal.read()).entries, []);
  },
  "Journal.export": async () => assert.match(await shop.journal.export(), /^{"format":"rocketmq-journal"/),
  "Journal.follow": async () => {
    const clients = [];
    for await (const line of shop.journal.follow({ client: "c1", limit: 2 })) clients.push(line.client);
    assert.deepStrictEqual(clients, ["c1", "c1"]);
  },

  "Snapshots.create": async (t) =>
    assert.deepStrictEqual((await (await copy(t)).snapshots.create()).brokers, ["broker-a"]),
  "Snapshots.list": async (t) => {
    const { snapshots } = await copy(t);
    const kept = await snapshots.create();
    assert.deepStrictEqual(ids(await snapshots.list()), [kept.id]);
  },
  "Snapshots.delete": async (t) => {
    const { snapshots } = await copy(t);
    await snapshots.delete((await snapshots.create()).id);
    assert.deepStrictEqual(await snapshots.list(), []);
  },
  "Snapshots.restore": async (t) => {
    const mq = await copy(t);
    const kept = await mq.snapshots.create();
    await mq.send("reminders", "drink");
    await mq.snapshots.restore(kept.id);
    await mq.assertBodies("reminders", []);
  },
  "Snapshots.save": async (t) => assert.ok((await (await copy(t)).snapshots.save()).length > 100),
  "Snapshots.load": async (t) => {
    const mq = await copy(t);
    const file = await mq.snapshots.save();
    await mq.send("reminders", "drink");
    await mq.snapshots.load(file);
    await mq.assertBodies("reminders", []);
  },

  "Faults.add": async (t) =>
    assert.strictEqual((await (await copy(t)).faults.add({ name: "lost", then: "drop_response" })).name, "lost"),
  "Faults.addAll": async (t) =>
    assert.strictEqual((await (await copy(t)).faults.addAll([{ then: "drop_response" }])).length, 1),
  "Faults.list": async (t) => {
    const { faults } = await copy(t);
    await faults.add({ name: "lost", then: "drop_response" });
    assert.deepStrictEqual(names(await faults.list()), ["lost"]);
  },
  "Faults.addPreset": async (t) => assert.ok((await (await copy(t)).faults.addPreset("lossy-acks")).length > 0),
  "Faults.clear": async (t) => {
    const { faults } = await copy(t);
    await faults.add({ then: "drop_response" });
    await faults.clear();
    assert.deepStrictEqual(await faults.list(), []);
  },
  "Rule.fired": async (t) => {
    const rule = await (await copy(t)).faults.add({ when: { operation: "SendMessage" }, then: "drop_response" });
    assert.strictEqual(await rule.fired(), 0);
  },
  "Rule.events": async (t) => {
    const rule = await (await copy(t)).faults.add({ then: "drop_response", times: 3 });
    assert.strictEqual((await rule.events()).rule.times, 3);
  },
  "Rule.remove": async (t) => {
    const { faults } = await copy(t);
    await (await faults.add({ then: "drop_response" })).remove();
    assert.deepStrictEqual(await faults.list(), []);
  },

  "Control.get": async () => assert.strictEqual((await shop.control.get("/openapi.json")).openapi, "3.1.0"),
  "Control.text": async () => assert.match(await shop.control.text("/metrics"), /rocketmq_/),
  "Control.bytes": async () => assert.ok(Buffer.isBuffer(await shop.control.bytes("/v1/ca"))),
  "Control.stream": async () => assert.match(await textOf(await shop.control.stream("/v1/ca")), /^-----BEGIN CERT/),
  "Control.keepOpen": async (t) => {
    const { control } = await copy(t);
    const response = await control.keepOpen("POST", "/v1/hold", { name: "a row" });
    await assert.rejects(control.keepOpen("POST", "/v1/hold", { name: "another row", timeout: "0s" }), { status: 409 });
    assert.ok(response.end());
  },
  "Control.ready": async () => assert.strictEqual((await shop.control.ready()).endpoint, shop.endpoint),
  "Control.post": async (t) =>
    assert.strictEqual((await (await copy(t)).control.post("/v1/topics", { name: "a" })).name, "a"),
  "Control.delete": async (t) => {
    const { control } = await copy(t);
    await control.delete("/v1/topics/teas");
    await assert.rejects(control.get("/v1/topics/teas"), { status: 404 });
  },
  "Control.request": async () => assert.strictEqual((await shop.control.request("GET", "/v1/clock")).frozen, true),
};

/** The names of the methods that a row has called. */
const called = new Set();

/** Record the calls of the own methods of an object, and return their names. */
function recorded(name, object, ...left) {
  return Reflect.ownKeys(object).filter((key) => {
    const { value } = Object.getOwnPropertyDescriptor(object, key);
    if (typeof value !== "function" || left.includes(key)) return false;
    object[key] = function (...args) {
      called.add(rowOf(name, key));
      return value.apply(this, args);
    };
    return true;
  }).map((key) => rowOf(name, key));
}

const rowOf = (name, key) => `${name}.${typeof key === "symbol" ? "Symbol.asyncDispose" : key}`;

async function declared() {
  const probe = await shop.fork();
  const rule = await probe.faults.add({ then: "drop_response" });
  await probe.stop();
  const parts = [shop.control, shop.clock, shop.brokers, shop.inspect, shop.journal, shop.snapshots, shop.faults, rule];
  const assertions = Object.getPrototypeOf(RocketMQ.prototype);
  const prototypes = [RocketMQ.prototype, assertions, ...parts.map(Object.getPrototypeOf)];
  const methods = prototypes.flatMap((each) => recorded(each.constructor.name, each, "constructor"));
  return [...recorded("RocketMQ", RocketMQ, "prototype"), ...methods];
}

const METHODS = await declared();

test("each method has a row, and each row a method", () => {
  assert.deepStrictEqual(Object.keys(ROWS).sort(), METHODS.sort());
});

for (const [name, call] of Object.entries(ROWS)) {
  test(name, async (t) => {
    called.clear();
    await call(t);
    assert.ok(called.has(name), `the row does not call ${name}`);
  });
}
