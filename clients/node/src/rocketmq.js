import { Assertions } from "./assertions.js";
import { Brokers } from "./brokers.js";
import { Clock } from "./clock.js";
import { startCommand } from "./command.js";
import { Control, segment } from "./control.js";
import { Faults } from "./faults.js";
import { fromForm, toForm } from "./message.js";

/** The emulator of this process, from which each test gets a fork. */
let shared;
/**
 * Emulators whose tests have ended. They stop when the next one starts, or with this process: node:test runs the hooks
 * of a test in the order of their registration, so that clients of the test are closed after its emulator's hook.
 */
const released = new Set();
/** Requests after which what clients have sent before is answered: the emulator serves all from one thread, in order. */
const ROUND_TRIPS = 3;
/** True while a test holds the emulator of ROCKETMQ_CONTROL_URL. */
let held = false;

/** A running emulator: name server, broker and gRPC proxy. */
export class RocketMQ extends Assertions {
  #stop;

  constructor(addresses, token, stop) {
    super();
    this.control = new Control(addresses.control, token);
    /** The address for SDKs of the gRPC protocol. */
    this.endpoint = addresses.endpoint;
    /** The address for SDKs of the remoting protocol. */
    this.nameServer = addresses.namesrv;
    /** The control port, for requests that this class does not have. */
    this.controlUrl = addresses.control;
    this.clock = new Clock(this.control);
    this.brokers = new Brokers(this.control);
    this.faults = new Faults(this.control);
    this.#stop = stop;
  }

  /**
   * Start an emulator for one test, with these topics. It ends after the test `t` of node:test, with `stop()`, or with
   * `await using`.
   *
   * All tests of a Node process share one process of `rocketmq-emulator`, and each gets a fork of its emulator, with
   * ports of its own. If ROCKETMQ_CONTROL_URL is set, the emulator with that control port is reset instead, for one test
   * at a time. `own` starts a process of its own, with the options `command` and `args`.
   */
  static async start({ t, topics = [], own = false, command, args } = {}) {
    await stopReleased();
    const mq = own || command || args ? await ownProcess(command, args) : await forTest();
    t?.after(() => released.add(mq));
    try {
      for (const topic of topics) await mq.createTopic(...parsed(topic));
    } catch (error) {
      if (!t) await mq.stop();
      throw error;
    }
    return mq;
  }

  /** Return the emulator with this control port. `stop()` leaves it running. */
  static async connect(controlUrl, token = process.env.ROCKETMQ_CONTROL_TOKEN) {
    const addresses = await new Control(controlUrl, token).get("/readyz");
    return new RocketMQ(seenFrom(new URL(controlUrl), addresses), token, async () => {});
  }

  /** Stop the emulator. */
  async stop() {
    const stop = this.#stop;
    this.#stop = async () => {};
    await this.#drain();
    await stop();
  }

  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    return this.stop();
  }

  /** Return to the instant after the start. Connections of clients are closed. */
  async reset() {
    await this.control.post("/v1/reset");
  }

  /** Start another emulator with the same state, on ports of its own. */
  async fork() {
    const { id, ...addresses } = await this.control.post("/v1/forks", {});
    const stop = () => this.control.delete(`/v1/forks/${segment(id)}`);
    return new RocketMQ(addresses, this.control.token, stop);
  }

  /** Create a topic of type NORMAL, FIFO, DELAY, TRANSACTION or MIXED. */
  async createTopic(name, type = "NORMAL", queues = undefined) {
    await this.control.post("/v1/topics", { name, type, queues });
  }

  async deleteTopic(name) {
    await this.control.delete(`/v1/topics/${segment(name)}`);
  }

  /** Create a consumer group, or change the settings of an existing one. */
  async createGroup(name, { orderly, retryMaxTimes } = {}) {
    await this.control.post("/v1/groups", { name, orderly, retry_max_times: retryMaxTimes });
  }

  async deleteGroup(name) {
    await this.control.delete(`/v1/groups/${segment(name)}`);
  }

  /** Reset the offsets of a group in a topic to "earliest", "latest", or an instant such as 2026-01-31T12:00:00Z. */
  async resetOffset(group, topic, to) {
    await this.control.post(`/v1/groups/${segment(group)}/reset-offset`, { topic, to });
  }

  /** Resolve to whether a group has something to do, and if not, why: { reason, sentence, ... }. */
  explainGroup(group) {
    return this.control.get(`/v1/groups/${segment(group)}/explain`);
  }

  /** End the registrations of a client as if it had been silent for two minutes. */
  async expireClient(client) {
    await this.control.post("/v1/clients/expire", { client });
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

  /** Resolve to what became of a message for a group, or for all groups: { reason, sentence, ... }. */
  explain(message, group) {
    return this.control.get(`/v1/explain/${segment(message)}`, { group });
  }

  /** Resolve to every step of a message: { steps: [...], ... }. */
  history(message) {
    return this.control.get(`/v1/history/${segment(message)}`);
  }

  /** Resolve to the sentences about probable mistakes of clients. */
  async warnings() {
    return (await this.control.get("/v1/warnings")).warnings.map((warning) => warning.text);
  }

  /** Wait until a consumer of a group has registered; with `assigned`, until it also has its queues. */
  async waitForConsumer(group, { assigned = false, timeout = "30s" } = {}) {
    await this.control.post("/v1/wait/consumer", { group, assigned, timeout });
  }

  /** Wait until a producer has registered: the group of a remoting producer, or the topic of a gRPC producer. */
  async waitForProducer(name, { timeout = "30s" } = {}) {
    await this.control.post("/v1/wait/producer", { name, timeout });
  }

  /**
   * Let clients that were shut down just now end their streams. `shutdown()` of the SDK returns before: if the
   * connection is closed under such a stream, the SDK throws an error that no test can catch.
   */
  async #drain() {
    for (let i = 0; i < ROUND_TRIPS; i++) await this.control.get("/readyz").catch(() => {});
  }

  async #messages(path) {
    return (await this.control.get(path)).messages.map(fromForm);
  }
}

async function stopReleased() {
  const ended = [...released];
  released.clear();
  for (const each of ended) await each.stop();
}

async function ownProcess(command, args) {
  const { ready, stop } = await startCommand({ command, args });
  return new RocketMQ(ready, process.env.ROCKETMQ_CONTROL_TOKEN, stop);
}

async function forTest() {
  const url = process.env.ROCKETMQ_CONTROL_URL;
  if (url) return sidecar(url);
  shared ??= ownProcess();
  return (await shared).fork();
}

async function sidecar(url) {
  if (held) {
    throw new Error(
      `ROCKETMQ_CONTROL_URL=${url}: another test holds this emulator, which is reset for each test; run one test at a ` +
        "time, or unset the variable, so that each test gets a fork",
    );
  }
  held = true;
  const mq = await RocketMQ.connect(url);
  await mq.reset();
  return new RocketMQ(
    { endpoint: mq.endpoint, namesrv: mq.nameServer, control: mq.controlUrl },
    mq.control.token,
    async () => {
      held = false;
    },
  );
}

const LOOPBACK = /^(localhost|127\..*|\[?::1\]?)$/;

/** Return the addresses for a client that reaches the control port by a URL. */
function seenFrom(url, { endpoint, namesrv, advertised = {} }) {
  const there = (address) => {
    const at = address.lastIndexOf(":");
    const isHere = LOOPBACK.test(url.hostname) || !LOOPBACK.test(address.slice(0, at));
    return isHere ? address : url.hostname + address.slice(at);
  };
  return {
    endpoint: advertised.endpoint ?? there(endpoint),
    namesrv: advertised.namesrv ?? there(namesrv),
    control: url.href,
  };
}

/** Return name, type and number of queues of a topic that is written as NAME, NAME:TYPE or NAME:TYPE:QUEUES. */
function parsed(text) {
  const [name, type, queues] = text.split(":");
  return [name, type, queues === undefined ? undefined : Number(queues)];
}
