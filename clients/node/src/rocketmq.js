import { Assertions } from "./assertions.js";
import { Brokers } from "./brokers.js";
import { Clock } from "./clock.js";
import { startCommand } from "./command.js";
import { Control, segment } from "./control.js";
import { Faults } from "./faults.js";
import { afterTestsOfJest, DEFAULT_WAIT, HoldLost, Holder, hold } from "./hold.js";
import { Inspection } from "./inspection.js";
import { Journal } from "./journal.js";
import { fromForm, toForm } from "./message.js";
import { warnAboutOldNode } from "./node_version.js";
import { Snapshots } from "./snapshots.js";
import { listOf, read } from "./values.js";

/** The emulator of this process, from which each test gets a fork. */
let shared;
/** The fork of it that is reset for each test with `isolation: "reset"`. */
let serial;
/** Emulators whose tests have ended and that still run. They stop when the next one starts, or with this process. */
const released = new Set();
/** Requests in a row, after which the emulator, with its one thread, has also served all that clients sent before. */
const ROUND_TRIPS = 3;
/** The test that uses the emulator that is reset for each test, or waits for it. */
let user;
afterTestsOfJest(() => {
  if (user?.isWaiting) user.abandon();
});
const ISOLATIONS = ["fork", "reset"];

/** A running emulator: name server, broker and gRPC proxy. */
export class RocketMQ extends Assertions {
  #stop;
  /** The end of the first call of `stop()`. */
  #stopped;
  /** Restores, after a reset, the topics of `start()` and the addresses of `mapped()`. */
  #prepare = async () => {};

  constructor(addresses, token, stop) {
    super();
    this.control = new Control(addresses.control, token);
    /** The address for SDKs of the gRPC protocol. */
    this.endpoint = addresses.endpoint;
    /** The address for SDKs of the remoting protocol. */
    this.nameServer = addresses.namesrv;
    /** The address of the first broker. */
    this.broker = addresses.broker;
    /** The address of the control port. `control` sends the requests for which there is no method here. */
    this.controlUrl = addresses.control;
    this.clock = new Clock(this.control);
    this.brokers = new Brokers(this.control);
    this.faults = new Faults(this.control);
    this.inspect = new Inspection(this.control);
    this.journal = new Journal(this.control);
    this.snapshots = new Snapshots(this.control);
    this.#stop = stop;
  }

  /**
   * Start an emulator for one test, with these topics. It ends after the test `t` of node:test, with `stop()`, or with
   * `await using`.
   *
   * All tests of a Node process share one process of `rocketmq-emulator`, and each gets a fork of its emulator, with
   * ports of its own. With the `isolation` "reset" tests use the same fork, which is reset for each of them, one test at
   * a time. If ROCKETMQ_CONTROL_URL is set, the emulator with that control port is reset in the same way; tests of other
   * processes that use it wait for each other, for `holdTimeout` at most: 1m, or 4s in Jest, whose own limit is 5 s. `own`
   * starts a process of its own, with the options `command` and `args`.
   */
  static async start({ t, topics = [], isolation = "fork", own = false, command, args, holdTimeout } = {}) {
    const isAlone = own || command !== undefined || args !== undefined;
    checkIsolation(isolation, isAlone);
    warnAboutOldNode();
    await stopReleased();
    const mq = isAlone ? await ownProcess(command, args) : await forTest(isolation, t, holdTimeout);
    if (t) stopAfter(t, mq);
    try {
      await mq.#prepareBy(async () => {
        for (const topic of topics) await mq.createTopic(...parsed(topic));
      });
    } catch (error) {
      if (!t) await mq.stop();
      throw error;
    }
    return mq;
  }

  /** Return the emulator with this control port. `stop()` leaves it running. */
  static async connect(controlUrl, token = process.env.ROCKETMQ_CONTROL_TOKEN) {
    const addresses = await new Control(controlUrl, token).ready();
    return new RocketMQ(seenFrom(new URL(controlUrl), addresses), token, async () => {});
  }

  /** Stop the emulator. */
  async stop() {
    this.#stopped ??= this.#drain().then(this.#stop);
    await this.#stopped;
  }

  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    return this.stop();
  }

  /**
   * Return to the instant after the start, with the topics of `start()`. Connections of clients are closed, unless they
   * are to be kept. `startAt`, a Date or a text, and `time`, "real" or "frozen", choose the clock until the next reset.
   */
  async reset({ keepConnections = false, startAt, time } = {}) {
    const start = startAt instanceof Date ? startAt.toISOString() : startAt;
    await this.control.post("/v1/reset", { keep_connections: keepConnections, start_at: start, time });
    await this.#prepare();
  }

  /**
   * Wait until no other test holds the emulator, and hold it until the function that this resolves to is called, or until
   * this process ends. Tests of other processes that reset the emulator, those of the helpers for Java and Go too, wait
   * meanwhile. Refusals of other holds show `name`. `signal` ends the wait. A hold excludes other holds only: a reset
   * neither needs nor ends one. The function throws HoldLost if the connection was lost before.
   */
  async hold(name, { timeout, signal } = {}) {
    return hold(this.control, name, { timeout, signal });
  }

  /**
   * Resolve to this emulator with the addresses at which clients reach it, such as those of mapped ports of a container:
   * `broker` is that of the first broker. Routes of both protocols name them from now on, also after `reset()` of the
   * returned emulator. Call it before clients connect.
   */
  async mapped({ nameServer, broker, endpoint }) {
    const addresses = { endpoint, namesrv: nameServer, broker, control: this.controlUrl };
    const mapped = new RocketMQ(addresses, this.control.token, () => this.stop());
    mapped.#prepare = this.#prepare;
    await mapped.#prepareBy(async () => {
      const [first] = await this.brokers.list();
      await this.advertise(first.name, broker);
      await this.advertise("endpoint", endpoint);
    });
    return mapped;
  }

  /**
   * Change the address of a server in routes of both protocols: "endpoint" for the gRPC proxy, "broker-a" for a master,
   * "broker-a:1" for a slave; null restores the default. Only routes that clients read later have it.
   */
  async advertise(server, address) {
    await this.control.post("/v1/advertise", { server, address });
  }

  /**
   * Start another emulator with the same state, on ports of its own: free ones, or `nameServerPort`, `brokerPort`,
   * `grpcPort` and `controlPort`. `advertise` are the addresses that its routes name.
   */
  async fork({ nameServerPort, brokerPort, grpcPort, controlPort, advertise } = {}) {
    const ports = { namesrv_port: nameServerPort, broker_port: brokerPort, grpc_port: grpcPort };
    const body = { ...ports, control_port: controlPort, advertise };
    const { id, ...addresses } = await this.control.post("/v1/forks", body);
    const stop = () => this.control.delete(`/v1/forks/${segment(id)}`);
    return new RocketMQ(addresses, this.control.token, stop);
  }

  /** Resolve to the running forks of this emulator, oldest first. */
  async forks() {
    return listOf("ForkInfo", await this.control.get("/v1/forks"), "forks");
  }

  /**
   * Create a topic, or change the given fields of an existing one: the `type` NORMAL, FIFO, DELAY, TRANSACTION or MIXED,
   * and the number of `queues` on each broker; on one master or cluster only, if `broker` or `cluster` is given.
   */
  async createTopic(name, { type, queues, broker, cluster } = {}) {
    await this.control.post("/v1/topics", { name, type, queues, broker, cluster });
  }

  /** Resolve to the topics by name, with `system` also to those of the brokers themselves. */
  async topics({ system } = {}) {
    return listOf("TopicInfo", await this.control.get("/v1/topics", { system }), "topics");
  }

  /** Resolve to the configuration of a topic. */
  async topic(name) {
    return read("TopicInfo", await this.control.get(`/v1/topics/${segment(name)}`));
  }

  async deleteTopic(name) {
    await this.control.delete(`/v1/topics/${segment(name)}`);
  }

  /** Create a consumer group, or change the settings of an existing one. */
  async createGroup(name, { orderly, retryMaxTimes, consumeEnable } = {}) {
    const settings = { orderly, retry_max_times: retryMaxTimes, consume_enable: consumeEnable };
    await this.control.post("/v1/groups", { name, ...settings });
  }

  /** Resolve to the consumer groups by name, with `system` also to those that brokers create at their start. */
  async groups({ system } = {}) {
    return listOf("GroupInfo", await this.control.get("/v1/groups", { system }), "groups");
  }

  /** Resolve to a group with its members, its offsets and its lag on each queue. */
  async group(name) {
    return read("GroupState", await this.control.get(`/v1/groups/${segment(name)}`));
  }

  /** Delete a group with its retry topic and its dead letter queue, and with its offsets unless they are to be kept. */
  async deleteGroup(name, { keepOffsets = false } = {}) {
    await this.control.delete(`/v1/groups/${segment(name)}?keep_offsets=${keepOffsets}`);
  }

  /**
   * Reset the offsets of a group in a topic to "earliest", "latest", an instant such as 2026-01-31T12:00:00Z, or one
   * offset for all queues, a number.
   */
  async resetOffset(group, topic, to) {
    await this.control.post(`/v1/groups/${segment(group)}/reset-offset`, { topic, to });
  }

  /** Explain why a group is idle, or say that it is not idle. */
  async explainGroup(group) {
    return read("IdleExplanation", await this.control.get(`/v1/groups/${segment(group)}/explain`));
  }

  /** Explain why a client is idle, or say that it is not idle. */
  async explainClient(client) {
    return read("IdleExplanation", await this.control.get(`/v1/clients/${segment(client)}/explain`));
  }

  /** Resolve to the connected clients: producers, then consumers, then clients that only the proxy knows. */
  async clients() {
    return listOf("ClientInfo", await this.control.get("/v1/clients"), "clients");
  }

  /** End the registrations of a client as if it had been silent for two minutes. */
  async expireClient(client) {
    await this.control.post("/v1/clients/expire", { client });
  }

  /**
   * Create a user on all running masters, or replace the password and all rights of an existing one: { name, password,
   * super, allow, deny }. The masters must keep users: set their configuration keys when the command starts.
   */
  async putUser(user) {
    await this.control.post("/v1/users", user);
  }

  /** Send a text, bytes, or { body, tag, keys, properties, messageGroup } without a client. */
  async send(topic, message) {
    return fromForm(await this.control.post(`/v1/messages/${segment(topic)}`, toForm(message)));
  }

  /** Resolve to the messages of a topic. */
  messages(topic) {
    return this.#messages(`/v1/messages/${segment(topic)}`);
  }

  /** Resolve to the bodies of the messages of a topic, as texts. */
  async texts(topic) {
    return (await this.messages(topic)).map((message) => message.text);
  }

  /** Resolve to the dead letters of a group. */
  deadLetters(group) {
    return this.#messages(`/v1/groups/${segment(group)}/dead-letters`);
  }

  /** Resolve to the messages in the retry topics of a group. */
  retryMessages(group) {
    return this.#messages(`/v1/groups/${segment(group)}/retry-messages`);
  }

  /** Resolve to the half messages of a topic, or of all topics, whose transactions are not decided. */
  halfMessages(topic) {
    return this.#messages("/v1/transactions/half", { topic });
  }

  /** Resolve to the half messages of a topic, or of all topics, that brokers discarded after the last check. */
  discardedMessages(topic) {
    return this.#messages("/v1/transactions/discarded", { topic });
  }

  /**
   * Explain what became of a message for a group, or for all groups. Give the topic if messages of several topics have
   * the key.
   */
  async explain(message, group, { topic } = {}) {
    return read("Explanation", await this.control.get(`/v1/explain/${segment(message)}`, { group, topic }));
  }

  /** Resolve to every step of a message; with `group`, without those of other groups. */
  async history(message, { group, topic } = {}) {
    return read("History", await this.control.get(`/v1/history/${segment(message)}`, { group, topic }));
  }

  /** Resolve to probable mistakes of clients, such as members of a group that subscribe differently. */
  async warnings() {
    return listOf("Warning", await this.control.get("/v1/warnings"), "warnings");
  }

  /** Resolve to the metrics of the emulator in the text format of Prometheus. */
  metrics() {
    return this.control.text("/metrics");
  }

  /** Resolve to counters of receives since the start, and to the number of receives in progress. */
  async receiveMetrics() {
    return read("ReceiveMetrics", (await this.control.get("/v1/receive-metrics")).receive);
  }

  /** Resolve to the certificate, in PEM, that clients trust if the emulator uses TLS. */
  certificateAuthority() {
    return this.control.text("/v1/ca");
  }

  /** Wait until a consumer of a group has registered; with `assigned`, until it also has its queues. */
  async waitForConsumer(group, { assigned = false, timeout = "30s" } = {}) {
    await this.control.post("/v1/wait/consumer", { group, assigned, timeout });
  }

  /** Wait until a producer has registered; `name` is the group of a remoting producer, or the topic of a gRPC one. */
  async waitForProducer(name, { timeout = "30s" } = {}) {
    await this.control.post("/v1/wait/producer", { name, timeout });
  }

  /** Call a function that prepares the emulator, now and after each reset. */
  async #prepareBy(preparation) {
    const earlier = this.#prepare;
    this.#prepare = async () => {
      await earlier();
      await preparation();
    };
    await preparation();
  }

  /**
   * Let clients that were shut down just now end their streams. `shutdown()` of the SDK returns before the streams have
   * ended. If a connection closes under such a stream, the SDK throws an error that no test can catch.
   */
  async #drain() {
    try {
      for (let i = 0; i < ROUND_TRIPS; i++) await this.control.ready();
    } catch {
      // The emulator has ended, or does not respond.
    }
  }

  async #messages(path, query) {
    return (await this.control.get(path, query)).messages.map(fromForm);
  }
}

/**
 * Stop an emulator after the other hooks of its test, which close the clients of the test. node:test runs hooks in the
 * order of their registration, so that a hook that a hook adds is the last one. No version runs such a hook after a hook
 * that has failed, and older ones never do. Then the signal of the test, which node:test aborts after the hooks, is the
 * occasion.
 */
function stopAfter(t, mq) {
  const stop = async () => {
    if (!released.delete(mq)) return;
    try {
      await mq.stop();
    } catch (error) {
      // node:test does not print the error of a hook if the test has failed before.
      if (error instanceof HoldLost) t.diagnostic?.(error.message);
      throw error;
    }
  };
  t.after(() => {
    released.add(mq);
    t.signal?.addEventListener("abort", stop, { once: true });
    t.after(stop);
  });
}

async function stopReleased() {
  const ended = [...released];
  for (const each of ended) {
    released.delete(each);
    await each.stop();
  }
}

function checkIsolation(isolation, isAlone) {
  if (!ISOLATIONS.includes(isolation)) {
    throw new Error(`isolation=${isolation}: is no isolation; the values are ${ISOLATIONS.join(" and ")}; use fork`);
  }
  if (isAlone && isolation === "reset") {
    throw new Error(
      "isolation=reset: own, command and args start a process for one test, which no other test uses; leave the " +
        "isolation out",
    );
  }
}

async function ownProcess(command, args) {
  const { ready, stop } = await startCommand({ command, args });
  return new RocketMQ(ready, process.env.ROCKETMQ_CONTROL_TOKEN, stop);
}

async function forTest(isolation, t, holdTimeout = DEFAULT_WAIT) {
  const url = process.env.ROCKETMQ_CONTROL_URL;
  if (url) {
    const option = `ROCKETMQ_CONTROL_URL=${url}`;
    const untilHeld = (mq, { name, signal }) => holdForTest(mq, name, holdTimeout, signal, option);
    return useAlone(t, option, "unset the variable", () => RocketMQ.connect(url), untilHeld);
  }
  shared ??= ownProcess();
  const parent = await shared;
  if (isolation === "fork") return parent.fork();
  return useAlone(t, "isolation=reset", "leave the option out", () => (serial ??= parent.fork()));
}

async function holdForTest(mq, name, timeout, signal, option) {
  try {
    return await mq.hold(name, { timeout, signal });
  } catch (error) {
    if (error.status === 409) {
      error.message =
        `${option}: ${error.message}; this test has waited ${timeout}: to wait longer, set holdTimeout of ` +
        "RocketMQ.start(), and a longer timeout of the test";
    }
    throw error;
  }
}

/**
 * Reset an emulator that tests share, and return it for one test. `untilHeld` waits for tests of other processes, and
 * resolves to the function that lets them continue.
 */
async function useAlone(t, option, otherwise, emulator, untilHeld = async () => () => {}) {
  // The wait of a test that has ended goes on for a moment, and takes nothing.
  if (user && !(user.isWaiting && user.signal.aborted)) {
    throw new Error(
      `${option}: ${user.name} uses this emulator, which is reset for each test; run one test at a time and stop its ` +
        `emulator, or ${otherwise}, so that each test gets a fork`,
    );
  }
  const holder = new Holder(t);
  user = holder;
  let end = () => {};
  const release = async () => {
    if (user === holder) user = undefined;
    end();
  };
  try {
    const mq = await emulator();
    end = await untilHeld(mq, holder);
    if (!holder.signal.aborted) await mq.reset();
    // No hook of a test that has ended gives the emulator back.
    if (holder.signal.aborted) throw holder.signal.reason;
    holder.isWaiting = false;
    const { endpoint, nameServer: namesrv, broker, controlUrl: control } = mq;
    return new RocketMQ({ endpoint, namesrv, broker, control }, mq.control.token, release);
  } catch (error) {
    await release().catch(() => {}); // the error says more than the loss of the hold
    throw error;
  }
}

const LOOPBACK = /^(localhost|127\..*|\[?::1\]?)$/;

/** Return the addresses for a client that reaches the control port by a URL. */
function seenFrom(url, { endpoint, namesrv, broker, advertised = {} }) {
  const there = (address) => {
    const at = address.lastIndexOf(":");
    const isHere = LOOPBACK.test(url.hostname) || !LOOPBACK.test(address.slice(0, at));
    return isHere ? address : url.hostname + address.slice(at);
  };
  return {
    endpoint: advertised.endpoint ?? there(endpoint),
    namesrv: advertised.namesrv ?? there(namesrv),
    broker: there(broker),
    control: url.href,
  };
}

/** Return name, type and number of queues of a topic that is written as NAME, NAME:TYPE or NAME:TYPE:QUEUES. */
function parsed(text) {
  const [name, type, queues] = text.split(":");
  return [name, { type, queues: queues === undefined ? undefined : Number(queues) }];
}
