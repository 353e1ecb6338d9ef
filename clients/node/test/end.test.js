import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";

/** The longest time until an emulator has noticed the end of its test or of its parent. */
const END_MS = 2000;

/**
 * A program with one test, which prints the addresses of a fork and of a process of its own, waits for a line, and then
 * passes, fails or waits for its timeout. The program ends when its standard input ends, so that the end of the test is
 * seen before that of the process.
 */
const program = (options, end) => `
  import { once } from "node:events";
  import { createInterface } from "node:readline";
  import { test } from "node:test";
  import { RocketMQ } from "rocketmq-testkit";

  const input = createInterface({ input: process.stdin });
  const own = await RocketMQ.start({ own: true });
  await (await RocketMQ.start()).stop(); // The process that tests share has started before the timeout begins.
  test("the test of the child", ${JSON.stringify(options)}, async (t) => {
    const mq = await RocketMQ.start({ t, topics: ["orders"] });
    console.log(JSON.stringify([mq.endpoint, own.endpoint]));
    await once(input, "line");
    ${end}
  });`;

/** Resolve to a running child, and to connections to its two emulators. The test of the child may end from now on. */
async function startChild(t, options, end) {
  // With this variable the child would write its report in a binary form.
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program(options, end)], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const addresses = await new Promise((resolve, reject) => {
    // Other lines are those of the child's report.
    createInterface({ input: child.stdout }).on("line", (line) => line.startsWith("[") && resolve(JSON.parse(line)));
    child.once("exit", (code) => reject(new Error(`the child has ended with code ${code}`)));
  });
  const [fork, own] = await Promise.all(addresses.map(connection));
  child.stdin.write("end\n");
  return { child, fork, own };
}

async function connection(address) {
  const [host, port] = address.split(":");
  const socket = connect(Number(port), host);
  await once(socket, "connect");
  return socket.resume();
}

/**
 * Resolve when an emulator has closed a connection, which it does when it ends: within END_MS, or so long after the
 * timeout of its test.
 */
async function ended(name, socket, timeout = 0) {
  if (socket.closed) return;
  const limit = timeout + END_MS;
  await once(socket, "close", { signal: AbortSignal.timeout(limit) }).catch((cause) => {
    throw new Error(`${name} has not ended within ${limit} ms`, { cause });
  });
}

/** Check that the fork of a test ends with the test, and that a process of its own ends with the Node process. */
async function assertEnds(t, options, end, code) {
  const { child, fork, own } = await startChild(t, options, end);
  await ended("the fork", fork, options.timeout);
  assert.strictEqual(child.exitCode, null);
  child.stdin.end();
  assert.deepStrictEqual(await once(child, "exit"), [code, null]);
  await ended("the process", own);
}

test("emulators end with a test that passes, and with its process", async (t) => {
  await assertEnds(t, {}, "", 0);
});

test("emulators end with a test that fails, and with its process", async (t) => {
  await assertEnds(t, {}, `throw new Error("the test fails");`, 1);
});

test("emulators end with a test whose hook fails, and with its process", async (t) => {
  await assertEnds(t, {}, `t.after(() => { throw new Error("the hook fails"); });`, 1);
});

test("emulators end with a test that times out, and with its process", async (t) => {
  await assertEnds(t, { timeout: 3000 }, "await new Promise(() => {});", 1);
});

test("emulators end with a killed process", async (t) => {
  const { child, fork, own } = await startChild(t, {}, "await new Promise(() => {});");
  child.kill("SIGKILL");
  await once(child, "exit");
  await Promise.all([ended("the fork", fork), ended("the process", own)]);
});
