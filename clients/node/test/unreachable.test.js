import assert from "node:assert";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { Control } from "../src/control.js";

/** Resolve to a control port whose requests a function gets, and to its server. */
const answeredBy = async (t, answer) => {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return [new Control(`http://127.0.0.1:${server.address().port}`), server];
};

const because = (why) =>
  new RegExp(`^Error: http://127.0.0.1:\\d+: the control port does not respond \\(${why}\\); does the emulator run\\?$`);

test("the error of a refused connection names it", async (t) => {
  const [control, server] = await answeredBy(t);
  await new Promise((closed) => server.close(closed));
  await assert.rejects(control.get("/v1/topics"), because("connect ECONNREFUSED 127.0.0.1:\\d+"));
});

test("the error of a connection that ends without a response names its end", async (t) => {
  const [control] = await answeredBy(t, (request) => request.socket.end());
  await assert.rejects(control.get("/v1/topics"), because("socket hang up"));
});

test("the error of a connection that ends during a response names its end", async (t) => {
  const [control] = await answeredBy(t, (request, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("{", () => response.destroy());
  });
  await assert.rejects(control.get("/v1/topics"), because("aborted"));
});
