import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { inspect } from "node:util";

import { ControlError, RocketMQ } from "rocketmq-testkit";

test("messages are sent and read", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders", "payments:FIFO:4"] });
  const sent = await mq.send("orders", {
    body: "two teas", tag: "hot", keys: ["1001"], properties: { table: "7" },
  });
  const [message] = await mq.messages("orders");
  assert.strictEqual(message.id, sent.id);
  assert.deepStrictEqual([message.text, message.tag, message.keys, message.properties.table],
    ["two teas", "hot", ["1001"], "7"]);
  await mq.send("payments", { body: Buffer.from("12"), messageGroup: "7" });
  assert.deepStrictEqual(await mq.texts("payments"), ["12"]);
  await mq.assertSent({ key: "1001", times: 1 });
});

test("forks are independent", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  await mq.send("orders", "before");
  const fork = await mq.fork();
  await fork.send("orders", "in the fork");
  await mq.send("orders", "in the parent");
  await fork.assertBodies("orders", ["in the fork", "before"]);
  await mq.assertBodies("orders", ["before", "in the parent"]);
  await fork.stop();
  const [host, port] = fork.endpoint.split(":");
  const socket = connect(Number(port), host);
  const [error] = await once(socket, "error");
  assert.strictEqual(error.code, "ECONNREFUSED");
});

test("the clock delivers delayed messages", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["reminders"] });
  await mq.send("reminders", { body: "drink", properties: { DELAY: "14" } }); // ten minutes
  const begin = await mq.clock.now();
  await mq.clock.advanceUntil({ topic: "reminders", messages: 1 });
  assert.ok((await mq.clock.now()) - begin > 9 * 60_000);
  await mq.send("reminders", { body: "again", properties: { DELAY: "14" } });
  await mq.clock.advanceUntil(async () => (await mq.texts("reminders")).length === 2, "1h");
  const impatient = mq.clock.waitingAtMost("200ms");
  await assert.rejects(impatient.advanceUntil({ topic: "reminders", messages: 3 }, "1h"), /limit/);
});

test("rules are added, counted and removed", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  const rule = await mq.faults.add({
    when: { operation: "SendMessage", topic: "orders" }, then: "drop_response", times: 1,
  });
  assert.strictEqual(await rule.fired(), 0);
  await rule.remove();
  await assert.rejects(rule.remove(), (error) => error instanceof ControlError && error.status === 404);
  await assert.rejects(mq.faults.add({ then: "drop_respone" }), /did you mean drop_response\?/);
  assert.ok((await mq.faults.addPreset("lossy-acks")).length > 0);
  await mq.faults.clear();
});

test("a failed assertion names the most similar message and its history", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  for (const body of ["two tea", "coffee"]) await mq.send("orders", body);
  await assert.rejects(mq.assertBodies("orders", ["two teas", "milk"]), (error) => {
    assert.ok(error instanceof assert.AssertionError);
    assert.match(error.message, /most similar to "two teas" is "two tea"/);
    assert.match(error.message, /sent {2}direct/);
    return true;
  });
});

test("explanations and histories name the message", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  await mq.send("orders", { body: "x", keys: ["1001"] });
  const explained = await mq.explain("1001", "billing");
  assert.match(explained.sentence, /billing/);
  assert.deepStrictEqual([inspect(explained), String(explained)], [explained.sentence, explained.sentence]);
  const idle = await mq.explainGroup("billing");
  assert.strictEqual(inspect(idle), idle.sentence);
  const history = await mq.history("1001");
  assert.match(inspect(history), new RegExp(`^message ${history.messageId} of orders\\n  \\d\\d:.+  sent  .*$`));
  assert.deepStrictEqual((await mq.history("1001")).steps.map((step) => step.kind), ["sent"]);
  assert.deepStrictEqual(await mq.warnings(), []);
});

test("an emulator stops after the hooks of its test", async (t) => {
  let mq;
  await t.test("the test", async (inner) => {
    mq = await RocketMQ.start({ t: inner, topics: ["orders"] });
    inner.after(() => mq.assertBodies("orders", []));
  });
  await RocketMQ.start({ t }); // With Node 18 the stop goes on after the test, and the next start waits for it.
  await assert.rejects(mq.clock.now(), /does the emulator run\?/);
});

test("tests with a reset use the same emulator, one at a time", async (t) => {
  const endpoints = new Set();
  const serial = async (inner) => {
    const mq = await RocketMQ.start({ t: inner, topics: ["orders"], isolation: "reset" });
    endpoints.add(mq.endpoint);
    assert.deepStrictEqual((await mq.topics()).map((topic) => topic.name), ["orders"]);
    assert.deepStrictEqual(await mq.texts("orders"), []);
    await mq.send("orders", "two teas");
    await mq.createTopic("payments");
    await assert.rejects(
      RocketMQ.start({ isolation: "reset" }),
      /^Error: isolation=reset: .* \(pid \d+\) uses this emulator, which is reset for each test; run one test at a time /,
    );
    const fork = await RocketMQ.start({ t: inner });
    assert.deepStrictEqual(await fork.topics(), []);
  };
  await t.test("first", serial);
  await t.test("second", serial);
  assert.strictEqual(endpoints.size, 1);
});

test("a wrong isolation is one sentence", async () => {
  await assert.rejects(RocketMQ.start({ isolation: "none" }), /^Error: isolation=none: is no isolation; .* use fork$/);
  await assert.rejects(RocketMQ.start({ isolation: "reset", own: true }), /^Error: isolation=reset: own, command and args /);
});

test("a connected emulator keeps running", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  const same = await RocketMQ.connect(mq.controlUrl);
  assert.deepStrictEqual([same.endpoint, same.nameServer], [mq.endpoint, mq.nameServer]);
  await same.stop();
  await mq.assertBodies("orders", []);
});

test("the end of `await using` stops the emulator", async (t) => {
  const fork = await (await RocketMQ.start({ t })).fork();
  await fork[Symbol.asyncDispose]();
  await assert.rejects(fork.clock.now(), /does the emulator run\?/);
});

test("a command that refuses to start is quoted", async () => {
  await assert.rejects(RocketMQ.start({ args: ["--topic", "orders:FIFOO"] }), /FIFOO/);
  await assert.rejects(RocketMQ.start({ command: "/nowhere/emulator" }), /there is no such file/);
});

test("a process ends although its emulator runs", async () => {
  const program = `import { RocketMQ } from "rocketmq-testkit"; await RocketMQ.start({ topics: ["orders"] });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
  assert.deepStrictEqual(await once(child, "exit"), [0, null]);
});

test("brokers stop, start and restart", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  await mq.brokers.stop("broker-a", { kill: true });
  await assert.rejects(mq.brokers.restart("broker-a"), ControlError);
  await mq.brokers.start("broker-a");
  await mq.brokers.restart();
  await mq.brokers.crash("broker-a");
  await mq.brokers.configure({ brokerPermission: 4 });
  assert.strictEqual((await mq.control.get("/v1/config")).brokers["broker-a"].brokerPermission, "4");
  await assert.rejects(mq.brokers.configure({ brokerPermision: 4 }), { nearest: "brokerPermission" });
});

test("groups and topics are created and deleted", async (t) => {
  const mq = await RocketMQ.start({ t, topics: ["orders"] });
  await mq.createGroup("warehouse", { retryMaxTimes: 1 });
  await mq.resetOffset("warehouse", "orders", "latest");
  assert.match((await mq.explainGroup("warehouse")).sentence, /warehouse/);
  await mq.deleteGroup("warehouse");
  await assert.rejects(mq.deadLetters("warehouse"), { status: 404 });
  await mq.deleteTopic("orders");
  await assert.rejects(mq.messages("orders"), { status: 404 });
  await assert.rejects(mq.expireClient("nobody"), { status: 404 });
});
