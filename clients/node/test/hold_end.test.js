import assert from "node:assert";
import { spawn } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { createServer, request } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";

import { HoldLost, RocketMQ } from "rocketmq-testkit";
import { Control } from "../src/control.js";
import { hold } from "../src/hold.js";

/** As many requests wait for the hold of one emulator at most. */
const WAITING_MAX = 100;

const forkFor = async (t) => {
  const fork = await (await RocketMQ.start({ t })).fork();
  t.after(() => fork.stop().catch(() => {}));
  return fork;
};

const listening = async (t, server) => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
};

/** Use an emulator as that of ROCKETMQ_CONTROL_URL until the end of the test. */
const useSidecar = (t, url) => {
  process.env.ROCKETMQ_CONTROL_URL = url;
  t.after(() => delete process.env.ROCKETMQ_CONTROL_URL);
};

/**
 * Run a program with one test of node:test, which uses a fork until the fork ends, and then has this end. Return the
 * output. The test must fail.
 */
const failed = async (t, end) => {
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const parent = await RocketMQ.start({ t });
  const fork = await parent.fork();
  const [{ id }] = await parent.forks();
  const program = `
    import { test } from "node:test";
    import { RocketMQ } from "rocketmq-testkit";

    test("the test of the child", async (t) => {
      await RocketMQ.start({ t });
      await fetch("${parent.controlUrl}/v1/forks/${id}", { method: "DELETE" });
      ${end}
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    env: { ...env, ROCKETMQ_CONTROL_URL: fork.controlUrl },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.strictEqual(code, 1, output);
  return output;
};

const LOST =
  /: the hold of the test of the child \(pid \d+\) was lost before its end, because the emulator stopped or the connection/;

test("a test whose emulator has ended fails, although its body passes", async (t) => {
  assert.match(await failed(t, ""), LOST);
});

test("a test that fails because its emulator has ended says so", async (t) => {
  const output = await failed(t, 'throw new Error("no tea");');
  assert.match(output, /no tea/);
  assert.match(output, LOST);
});

test("the end of a lost hold throws HoldLost", async (t) => {
  const mq = await forkFor(t);
  const lost = await mq.hold("the first");
  await mq.stop();
  await assert.rejects(mq.topics(), /does not respond/);
  assert.throws(lost, (error) => {
    assert.match(error.message, /^http:.*: the hold of the first was lost before its end, .*; check .*, and run the test again$/);
    return error instanceof HoldLost;
  });
});

test("a hold whose emulator is silent for long is lost", async (t) => {
  const silent = createServer();
  const closed = new Promise((resolve) => {
    silent.once("request", (asked, response) => {
      response.write('{"name": "the first", "waited_ms": 0}\n');
      asked.socket.once("close", resolve);
    });
  });
  const control = new Control(await listening(t, silent));
  const lost = await hold(control, "the first", { silenceMs: 50 });
  await closed;
  assert.throws(lost, HoldLost);
});

test("a request for the hold of an emulator that does not respond ends", async (t) => {
  const sockets = [];
  const silent = createTcpServer((socket) => sockets.push(socket.on("error", () => {})));
  const control = new Control(await listening(t, silent));
  t.after(() => sockets.forEach((each) => each.destroy()));
  await assert.rejects(
    hold(control, "the first", { timeout: "20ms", answerMs: 30 }),
    /^Error: http:.*: the control port has not responded to a request for its hold, which waits 20ms at most; check /,
  );
  const [socket] = sockets;
  if (!socket.destroyed) await once(socket.resume(), "close");
});

test("a test that ends during its reset gives the emulator back", async (t) => {
  const mq = await forkFor(t);
  const ended = new AbortController();
  // Forwards requests. The test ends when it asks for the reset.
  const proxy = createServer((asked, response) => {
    if (asked.url === "/v1/reset") ended.abort(new Error("timeout"));
    const forwarded = request(mq.controlUrl + asked.url, { method: asked.method, headers: asked.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    asked.socket.on("close", () => forwarded.destroy());
    forwarded.on("error", () => response.destroy());
    asked.pipe(forwarded);
  });
  useSidecar(t, await listening(t, proxy));
  const hooks = [];
  const of = { name: "the first", signal: ended.signal, after: (hook) => hooks.push(hook) };
  await assert.rejects(RocketMQ.start({ t: of }), /^Error: the first \(pid \d+\): the test ended while it waited for its emulator; /);
  (await mq.hold("the second", { timeout: "10s" }))();
});

test("a second test of the process is refused with the name of the first", async (t) => {
  const mq = await forkFor(t);
  useSidecar(t, mq.controlUrl);
  await t.test("the first test", async (t) => {
    await RocketMQ.start({ t });
    await t.test("the second test", async (t) => {
      await assert.rejects(
        RocketMQ.start({ t }),
        /^Error: ROCKETMQ_CONTROL_URL=http:.*: .*the first test \(pid \d+\) uses this emulator, which is reset for each test; run one test at a time /,
      );
    });
  });
  await t.test("tests at the same time", async (parent) => {
    const results = await Promise.allSettled(
      ["one", "other"].map((name) => RocketMQ.start({ t: { name, after() {} } })),
    );
    assert.deepStrictEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    await results.find(({ value }) => value).value.stop();
    await (await RocketMQ.start({ t: parent })).stop();
  });
});

test("a wait that ends says which option lets it last longer", async (t) => {
  const mq = await forkFor(t);
  useSidecar(t, mq.controlUrl);
  const release = await mq.hold("OrderTest.pays (pid 4711)");
  await assert.rejects(RocketMQ.start({ holdTimeout: "50ms" }), (error) => {
    assert.match(error.message, /^ROCKETMQ_CONTROL_URL=http:.*: OrderTest.pays \(pid 4711\) has held the emulator for 0 s; /);
    assert.match(error.message, /; this test has waited 50ms: to wait longer, set holdTimeout of RocketMQ.start\(\), and a /);
    return error.status === 409;
  });
  release();
});

test("a test is refused if too many wait", async (t) => {
  const mq = await forkFor(t);
  const release = await mq.hold("the first");
  const ended = new AbortController();
  setMaxListeners(WAITING_MAX + 1, ended.signal);
  const waiting = Array.from({ length: WAITING_MAX + 1 }, (_, number) => mq.hold(`${number}`, { signal: ended.signal }));
  await assert.rejects(Promise.race(waiting), (error) => {
    assert.match(error.message, /^100 tests wait for the hold of this emulator, which is the most; run fewer test processes /);
    return error.status === 503;
  });
  ended.abort();
  await Promise.allSettled(waiting);
  release();
});
