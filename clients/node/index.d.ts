/** A duration with a unit (ms, s, m, h, d), such as "30s". */
export type Duration = string;

/** A message as the broker has stored it. */
export interface Message {
  topic: string;
  body: Buffer;
  text: string;
  tag: string | null;
  keys: string[];
  properties: Record<string, string>;
  id: string;
  messageGroup: string | null;
  broker: string;
  queueId: number;
  queueOffset: number;
  bornAt: Date;
  storedAt: Date;
  reconsumeTimes: number;
}

/** A message to send. */
export interface NewMessage {
  body: string | Uint8Array;
  tag?: string;
  keys?: string[];
  properties?: Record<string, string>;
  messageGroup?: string;
}

/** Selects the messages of an assertion, and the group and client that it is about. */
export interface About {
  /** An id, an offset id or a key. */
  message?: string;
  topic?: string;
  tag?: string;
  key?: string;
  id?: string;
  messageGroup?: string;
  properties?: Record<string, string>;
  text?: string;
  group?: string;
  client?: string;
  times?: number;
  /** The clock moves from event to event until the assertion holds, at most this far. */
  within?: Duration;
}

/** A condition of a topic or a group. */
export interface Condition {
  topic?: string;
  messages?: number;
  group?: string;
  lag?: number;
  acknowledged?: number;
  members?: number;
  deadLetters?: number;
}

export interface Clock {
  now(): Promise<Date>;
  advance(by: Duration): Promise<void>;
  advanceToNext(): Promise<void>;
  advanceUntil(condition: Condition | (() => unknown), limit?: Duration): Promise<void>;
}

/** Any other request of the control API, such as `get("/v1/brokers")`. */
export interface Control {
  get(path: string, query?: Record<string, string | number | boolean>): Promise<any>;
  post(path: string, body?: unknown): Promise<any>;
  delete(path: string): Promise<any>;
  request(method: string, path: string, body?: unknown): Promise<any>;
}

/** Brokers: broker-b is a master, broker-b:1 a slave, by name and id. */
export interface Brokers {
  crash(broker?: string): Promise<void>;
  restart(broker?: string): Promise<void>;
  stop(broker: string, options?: { kill?: boolean }): Promise<void>;
  start(broker: string): Promise<void>;
  configure(keys: Record<string, string | number | boolean>): Promise<void>;
}

/** A rule of faults: criteria, one fault, and how often. */
export interface NewRule {
  name?: string;
  when?: Record<string, unknown>;
  then: string | Record<string, unknown>;
  nth?: number | number[];
  every?: number;
  after?: number;
  times?: number;
  probability?: number;
}

export interface Rule {
  readonly name: string;
  fired(): Promise<number>;
  remove(): Promise<void>;
}

export interface Faults {
  add(rule: NewRule): Promise<Rule>;
  addPreset(name: string, parameters?: Record<string, unknown>): Promise<string[]>;
  clear(): Promise<void>;
}

export interface Explanation {
  reason: string;
  sentence: string;
  changes: { action: string; sentence: string }[];
  groups: Explanation[];
}

export interface Step {
  at_ms: number;
  kind: string;
  node: string;
  client: string;
  group: string | null;
  attempt: number | null;
  detail: string;
}

export interface History {
  message_id: string;
  topic: string;
  steps: Step[];
}

export interface StartOptions {
  /** The context of a test of node:test, after which the emulator ends. */
  t?: { after(hook: () => unknown): void };
  /** Topics to create: NAME, NAME:TYPE or NAME:TYPE:QUEUES. */
  topics?: string[];
  /** Start a process for this emulator alone. */
  own?: boolean;
  /** The path of rocketmq-emulator. */
  command?: string;
  /** Further options of the command. */
  args?: string[];
}

/** A refusal of the control port. */
export class ControlError extends Error {
  readonly type: string;
  readonly status: number;
  readonly field?: string;
  readonly nearest?: string;
}

/** A running emulator: name server, broker and gRPC proxy. */
export class RocketMQ {
  private constructor();
  static start(options?: StartOptions): Promise<RocketMQ>;
  static connect(controlUrl: string, token?: string): Promise<RocketMQ>;
  readonly endpoint: string;
  readonly nameServer: string;
  readonly controlUrl: string;
  readonly control: Control;
  readonly clock: Clock;
  readonly brokers: Brokers;
  readonly faults: Faults;
  stop(): Promise<void>;
  reset(): Promise<void>;
  fork(): Promise<RocketMQ>;
  createTopic(name: string, type?: string, queues?: number): Promise<void>;
  deleteTopic(name: string): Promise<void>;
  createGroup(name: string, settings?: { orderly?: boolean; retryMaxTimes?: number }): Promise<void>;
  deleteGroup(name: string): Promise<void>;
  resetOffset(group: string, topic: string, to: string): Promise<void>;
  explainGroup(group: string): Promise<Explanation>;
  expireClient(client: string): Promise<void>;
  send(topic: string, message: string | Uint8Array | NewMessage): Promise<Message>;
  messages(topic: string): Promise<Message[]>;
  texts(topic: string): Promise<string[]>;
  deadLetters(group: string): Promise<Message[]>;
  retryMessages(group: string): Promise<Message[]>;
  explain(message: string, group?: string): Promise<Explanation>;
  history(message: string): Promise<History>;
  warnings(): Promise<string[]>;
  waitForConsumer(group: string, options?: { assigned?: boolean; timeout?: Duration }): Promise<void>;
  waitForProducer(name: string, options?: { timeout?: Duration }): Promise<void>;
  assertBodies(topic: string, texts: string[]): Promise<void>;
  assertSent(about: About): Promise<void>;
  assertNotSent(about: About): Promise<void>;
  assertDelivered(about: About): Promise<void>;
  assertNotDelivered(about: About): Promise<void>;
  assertAcknowledged(about: About): Promise<void>;
  assertRetried(about: About): Promise<void>;
  assertInDlq(about: About): Promise<void>;
  assertOrdered(about: About & { by?: "message_group" | "queue" | "key" }): Promise<void>;
  assertNoLoss(about: About): Promise<void>;
  assertNoDuplicates(about: About): Promise<void>;
  assertChecked(about: About): Promise<void>;
  assertCommitted(about: About): Promise<void>;
  assertRolledBack(about: About): Promise<void>;
  assertDelayedUntil(about: About & { instant: Date; tolerance?: Duration }): Promise<void>;
  assertIdle(about?: About): Promise<void>;
  assertLag(about: About & { lag: number }): Promise<void>;
  assertConsumers(about: About & { count: number }): Promise<void>;
  assertSubscriptionsAgree(about: About): Promise<void>;
  assertNoErrors(about?: Pick<About, "client">): Promise<void>;
}
