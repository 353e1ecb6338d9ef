import { read } from "./values.js";

/** Lists everything that an emulator holds. Its calls change nothing. */
export class Inspection {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Resolve to all topics, also those of the brokers themselves. */
  topics() {
    return this.#list("TopicView", this.#control.get("/v1/inspect/topics"));
  }

  /** Resolve to the queues of a topic with the progress of each group. */
  queues(topic) {
    return this.#list("QueueView", this.#control.get("/v1/inspect/queues", { topic }));
  }

  /**
   * Resolve to the stored records of a topic's messages, in one state or in all: "stored", "delayed", "timed", "half",
   * "discarded", "retry" or "dead". `record` adds the bytes of each record.
   */
  messages(topic, { state, record } = {}) {
    return this.#list("InspectedMessage", this.#control.get("/v1/inspect/messages", { topic, state, record }));
  }

  /** Resolve to the messages in flight of a group, or of all groups. */
  receipts(group) {
    return this.#list("ReceiptView", this.#control.get("/v1/inspect/receipts", { group }));
  }

  /** Resolve to the queues that orderly consumers have locked. */
  locks() {
    return this.#list("LockView", this.#control.get("/v1/inspect/locks"));
  }

  /** Resolve to the delayed and timed messages, the next first. */
  timers() {
    return this.#list("TimerView", this.#control.get("/v1/inspect/timers"));
  }

  /** Resolve to the half messages whose transactions are not decided, with their checks. */
  halfMessages() {
    return this.#list("HalfView", this.#control.get("/v1/inspect/half-messages"));
  }

  /** Resolve to the consumer groups with members, subscriptions and disagreements. */
  groups() {
    return this.#list("GroupView", this.#control.get("/v1/inspect/groups"));
  }

  /** Resolve to one consumer group, whose `exists` is false if there is none. */
  async group(name) {
    return read("GroupView", (await this.#control.get("/v1/inspect/group", { group: name })).group);
  }

  /** Resolve to the queues of a topic with the members of a group that request them. */
  assignments(group, topic) {
    return this.#list("AssignmentView", this.#control.get("/v1/inspect/assignments", { group, topic }));
  }

  /** Resolve to the connections of clients. */
  connections() {
    return this.#list("ConnectionView", this.#control.get("/v1/inspect/connections"));
  }

  /** Resolve to the long polls that wait at brokers. */
  polls() {
    return this.#list("PollView", this.#control.get("/v1/inspect/polls"));
  }

  /** Resolve to the rules of faults. */
  rules() {
    return this.#list("RuleView", this.#control.get("/v1/inspect/rules"));
  }

  /** Resolve to the effective configuration of all nodes, or of a broker, "namesrv", "proxy" or "emulation". */
  configuration(node) {
    return this.#list("KeyView", this.#control.get("/v1/inspect/configuration", { node }));
  }

  /** Resolve to the items of the only field of a response. */
  async #list(type, response) {
    return read(`${type}[]`, Object.values(await response)[0]);
  }
}
