import assert from "node:assert";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { ControlError } from "rocketmq-testkit";
import { Brokers } from "../src/brokers.js";
import { Clock } from "../src/clock.js";
import { startCommand } from "../src/command.js";
import { Control } from "../src/control.js";
import { Faults } from "../src/faults.js";
import { Journal } from "../src/journal.js";
import { Snapshots } from "../src/snapshots.js";

/** Start an emulator in a process of its own, which a test can pause. */
const pausable = async (t, options) => {
  const started = await startCommand(options);
  t.after(() => started.child.kill("SIGKILL"));
  return { ...started, controlFor: (checkMs) => new Control(started.ready.control, undefined, { checkMs }) };
};

/** Return the text of the error about an emulator that responds to no request. */
const silent = (name) =>
  new RegExp(
    `^Error: http:.*: the control port has responded neither to ${name} for [\\d.]+ s nor to GET /healthz for 0.1 s; ` +
      "check that the emulator's process is not paused, and start it again if it does not respond$",
  );

test("requests to an emulator whose process is paused end", async (t) => {
  const { child, controlFor } = await pausable(t);
  const control = controlFor(100);
  const requests = {
    "GET /v1/clock": () => new Clock(control).now(),
    "POST /v1/reset": () => control.post("/v1/reset", {}),
    "POST /v1/clock/advance": () => new Clock(control).advance("1d"),
    "PATCH /v1/config": () => new Brokers(control).configure({ popPollingSize: 5 }),
    "DELETE /v1/faults": () => new Faults(control).clear(),
    "GET /metrics": () => control.text("/metrics"),
    "GET /v1/snapshot": () => new Snapshots(control).save(),
    "GET /v1/journal/follow": () => new Journal(control).follow().next(),
  };
  child.kill("SIGSTOP");
  await Promise.all(Object.entries(requests).map(([name, send]) => assert.rejects(send(), silent(name))));
  await assert.rejects(
    control.ready(50),
    /^Error: http:.*: the control port has not responded to GET \/readyz within 0.05 s; check that the emulator's process /,
  );
  child.kill("SIGCONT");
  await controlFor().ready();
});

test("a stream of an emulator whose process is paused ends", async (t) => {
  const { child, controlFor } = await pausable(t, { args: ["--topic", "orders"] });
  const control = controlFor(100);
  await controlFor().post("/v1/messages/orders", { text: "two teas" });
  const lines = new Journal(control).follow({ topic: "orders", operation: "SendMessage" });
  assert.strictEqual((await lines.next()).value.topic, "orders");
  child.kill("SIGSTOP");
  await assert.rejects(lines.next(), silent("GET /v1/journal/follow.*"));
});

/**
 * Resolve to the URL of a control port that hangs after some checks with a response, and to a function that returns the time
 * of the only line of its stream: half of `checkMs` after the last of these checks, or after the first one, began.
 */
const hanging = async (t, healthy, checkMs) => {
  let checks = 0;
  let lineAt;
  let send;
  const server = createServer(async (request, response) => {
    if (request.url === "/healthz") {
      if (++checks <= healthy) response.end();
      if (checks !== Math.max(1, healthy)) return;
      await sleep(checkMs / 2);
      lineAt = performance.now();
      send("id: 0\nevent: line\ndata: {}\n\n");
    } else {
      send = (line) => response.write(line);
      response.flushHeaders();
    }
  }).listen(0, "127.0.0.1");
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  await once(server, "listening");
  return [`http://127.0.0.1:${server.address().port}`, () => lineAt];
};

/** Check that the error of a stream that hangs has the time since its line. */
const checkTime = async (t, healthy) => {
  const [url, lineAt] = await hanging(t, healthy, 200);
  const lines = new Journal(new Control(url, undefined, { checkMs: 200 })).follow();
  await lines.next();
  await assert.rejects(lines.next(), (error) => {
    const [, found] = /responded neither to GET \/v1\/journal\/follow for ([\d.]+) s nor to /.exec(error.message);
    const most = performance.now() - lineAt() + 1;
    assert.ok(found > 0 && found * 1000 <= most, `${found} s; the line came ${most} ms before`);
    return true;
  });
};

test("a stream that hangs after a line names the time since then", (t) => checkTime(t, 2));

test("a stream that hangs after a line during a check ends", (t) => checkTime(t, 0));

test("a request that takes long is not cut", async (t) => {
  const control = (await pausable(t)).controlFor(1000);
  await assert.rejects(control.post("/v1/wait/producer", { name: "nobody", timeout: "3500ms" }), (error) => {
    assert.strictEqual(error.status, 504);
    return error instanceof ControlError;
  });
});

test("a stream that is silent for long is not cut", async (t) => {
  const control = (await pausable(t, { args: ["--topic", "orders"] })).controlFor(1000);
  const lines = new Journal(control).follow({ topic: "orders", operation: "SendMessage" });
  const line = lines.next();
  await assert.rejects(control.post("/v1/wait/producer", { name: "nobody", timeout: "3500ms" }), ControlError);
  await control.post("/v1/messages/orders", { text: "two teas" });
  assert.strictEqual((await line).value.topic, "orders");
  await lines.return();
});

test("an emulator whose process is paused is killed at its end", async (t) => {
  const { child, stop } = await pausable(t, { stopMs: 100 });
  child.kill("SIGSTOP");
  await assert.rejects(stop(), /^Error: rocketmq-emulator: has not stopped within 0.1 s, and was killed; check /);
  assert.strictEqual(child.signalCode, "SIGKILL");
});
