import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { RocketMQ } from "rocketmq-testkit";

/** The messages of a child, sent one by one, so that a reset of another process would delete some of them. */
const MESSAGES = 50;

/** A program with one test, which says that it uses the emulator, and checks that no other test does. */
const program = (wait) => `
  import { once } from "node:events";
  import { createInterface } from "node:readline";
  import { test } from "node:test";
  import { RocketMQ } from "rocketmq-testkit";

  test("the test of the child", async (t) => {
    const mq = await RocketMQ.start({ t, topics: ["orders"] });
    console.log("holds");
    ${wait ? 'const input = createInterface({ input: process.stdin }); await once(input, "line"); input.close();' : ""}
    const texts = Array.from({ length: ${MESSAGES} }, (_, number) => number + " of " + process.pid);
    for (const text of texts) await mq.send("orders", text);
    await mq.assertBodies("orders", texts);
  });`;

/** Start a process whose test uses a running emulator. `holds` resolves when it does. */
function startChild(t, mq, { wait = false } = {}) {
  // With this variable the child would write its report in a binary form.
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program(wait)], {
    env: { ...env, ROCKETMQ_CONTROL_URL: mq.controlUrl },
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const exit = once(child, "exit");
  const holds = new Promise((resolve) => {
    // Other lines are those of the child's report.
    createInterface({ input: child.stdout }).on("line", (line) => line === "holds" && resolve());
  });
  const passes = async () => assert.deepStrictEqual(await exit, [0, null]);
  return { child, exit, holds, passes };
}

const forkFor = async (t) => {
  const fork = await (await RocketMQ.start({ t })).fork();
  t.after(() => fork.stop());
  return fork;
};

test("tests of two processes never use the emulator at the same time", async (t) => {
  const mq = await forkFor(t);
  const children = [startChild(t, mq), startChild(t, mq)];
  await Promise.all(children.map((each) => each.passes()));
});

test("a test of another process is named until it ends", async (t) => {
  const mq = await forkFor(t);
  const other = startChild(t, mq, { wait: true });
  await other.holds;
  await assert.rejects(mq.hold("the second", { timeout: "0s" }), (error) => {
    assert.deepStrictEqual([error.status, error.type.split(":").at(-1)], [409, "emulator-held"]);
    assert.ok(error.message.startsWith(`the test of the child (pid ${other.child.pid}) has held the emulator for `));
    return true;
  });
  other.child.stdin.write("end\n");
  const release = await mq.hold("the second");
  await other.passes();
  release();
  release(); // has no effect
  (await mq.hold("the third"))();
});

test("a killed process holds the emulator no longer", async (t) => {
  const mq = await forkFor(t);
  const killed = startChild(t, mq, { wait: true });
  await killed.holds;
  killed.child.kill("SIGKILL");
  await startChild(t, mq).passes();
});

test("a test that ends while it waits leaves the line", async (t) => {
  const mq = await forkFor(t);
  const release = await mq.hold("the first");
  const ended = new AbortController();
  const waiting = mq.hold("the second", { signal: ended.signal });
  ended.abort(new Error("the test has ended"));
  await assert.rejects(waiting, /^Error: the test has ended$/);
  await assert.rejects(mq.hold("the second", { signal: ended.signal }), /^Error: the test has ended$/);
  release();
  (await mq.hold("the third"))();
});

test("a process ends although it holds an emulator", async (t) => {
  const mq = await forkFor(t);
  const text = `import { RocketMQ } from "rocketmq-testkit"; await RocketMQ.start();`;
  const env = { ...process.env, ROCKETMQ_CONTROL_URL: mq.controlUrl };
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], { env, stdio: "inherit" });
  assert.deepStrictEqual(await once(child, "exit"), [0, null]);
});

test("an emulator without holds is to be updated", async (t) => {
  const old = createServer((request, response) => {
    if (request.url === "/readyz") return response.end(JSON.stringify({ endpoint: "a:1", namesrv: "a:2", broker: "a:3" }));
    response.statusCode = 404;
    return response.end();
  });
  await once(old.listen(0, "127.0.0.1"), "listening");
  t.after(() => old.close());
  const mq = await RocketMQ.connect(`http://127.0.0.1:${old.address().port}`);
  await assert.rejects(mq.hold("a test"), /^Error: http:.*: this emulator is older than the package, .*; update /);
});
