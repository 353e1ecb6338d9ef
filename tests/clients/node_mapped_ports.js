import assert from "node:assert";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { test } from "node:test";

import { RocketMQ } from "rocketmq-testkit";

import { Shop } from "./shop.js";

/** Forward a free port to an address. Resolves to its address and the number of connections so far. */
async function forwarder(t, target) {
  const [host, port] = target.replace("http://", "").split(":");
  const found = { connections: 0 };
  const sockets = new Set();
  const server = createServer((client) => {
    found.connections++;
    const broker = connect(Number(port), host);
    for (const [from, to] of [[client, broker], [broker, client]]) {
      sockets.add(from);
      from.on("error", () => to.destroy()).pipe(to);
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  found.address = `127.0.0.1:${server.address().port}`;
  return found;
}

test("an SDK uses mapped ports", async (t) => {
  const inside = await RocketMQ.start({ t, args: ["--topic", "orders"] });
  const mapped = {
    9876: await forwarder(t, inside.nameServer),
    10911: await forwarder(t, inside.broker),
    8081: await forwarder(t, inside.endpoint),
    8090: await forwarder(t, inside.controlUrl),
  };
  const address = (port) => mapped[port].address;
  // PAGE
  await mq.reset();
  assert.strictEqual(mq.controlUrl.replace(/\/$/, ""), `http://${address(8090)}`);
  const { advertised } = await mq.control.get("/readyz");
  assert.deepStrictEqual([advertised["broker-a"], advertised.endpoint], [address(10911), address(8081)]);
  const shop = new Shop(mq.endpoint);
  await shop.order("1001", "two teas");
  await shop.close();
  await mq.assertBodies("orders", ["two teas"]);
  assert.ok(mapped[8081].connections > 0);
  for (const client of await mq.inspect.connections()) assert.strictEqual(client.protocol, "grpc");
});
