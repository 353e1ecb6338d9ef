/// <reference types="node" />
/// <reference lib="esnext.disposable" />
import type {
  AssignmentView, BrokerInfo, ClientInfo, Configuration, ConnectionView, Explanation, ForkInfo, GroupInfo, GroupState,
  GroupView, HalfView, History, IdleExplanation, InspectedMessage, JournalEvent, JournalPage, KeyView, LockView, PollView,
  QueueView, ReceiptView, ReceiveMetrics, RuleEvents, RuleState, RuleView, ScheduledEvent, Snapshot, TimerView, TopicInfo,
  TopicView, Warning,
} from "./types.js";

export type * from "./types.js";

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
  /** The id that the broker forms of its address and `physicalOffset`, the position in its commit log. */
  offsetId: string;
  physicalOffset: number;
  /** The address of the sender: host:port. */
  bornHost: string;
  /** True if the body is compressed in a way that the emulator does not know. */
  compressed: boolean;
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
  body?: Uint8Array;
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
  waitingAtMost(wait: Duration): Clock;
  isFrozen(): Promise<boolean>;
  scheduled(options?: { limit?: number }): Promise<ScheduledEvent[]>;
  now(): Promise<Date>;
  advance(by: Duration): Promise<void>;
  advanceToNext(): Promise<void>;
  advanceUntil(condition: Condition | (() => unknown), limit?: Duration): Promise<void>;
}

/** Any other request of the control API, such as `get("/openapi.json")`. */
export interface Control {
  get(path: string, query?: Record<string, string | number | boolean>): Promise<any>;
  text(path: string, query?: Record<string, string | number | boolean>): Promise<string>;
  bytes(path: string): Promise<Buffer>;
  post(path: string, body?: unknown): Promise<any>;
  delete(path: string): Promise<any>;
  request(method: string, path: string, body?: unknown): Promise<any>;
}

/** Brokers: broker-b is a master, broker-b:1 a slave, by name and id. */
export interface Brokers {
  list(): Promise<BrokerInfo[]>;
  configuration(): Promise<Configuration>;
  crash(broker?: string, options?: { powerLoss?: boolean }): Promise<void>;
  restart(broker?: string): Promise<void>;
  stop(broker: string, options?: { kill?: boolean }): Promise<void>;
  start(broker: string): Promise<void>;
  configure(keys: Record<string, string | number | boolean>, options?: { broker?: string }): Promise<void>;
}

/** Lists everything that an emulator holds. */
export interface Inspection {
  topics(): Promise<TopicView[]>;
  queues(topic: string): Promise<QueueView[]>;
  messages(
    topic: string,
    options?: { state?: "stored" | "delayed" | "timed" | "half" | "discarded" | "retry" | "dead"; record?: boolean },
  ): Promise<InspectedMessage[]>;
  receipts(group?: string): Promise<ReceiptView[]>;
  locks(): Promise<LockView[]>;
  timers(): Promise<TimerView[]>;
  halfMessages(): Promise<HalfView[]>;
  groups(): Promise<GroupView[]>;
  group(name: string): Promise<GroupView>;
  assignments(group: string, topic: string): Promise<AssignmentView[]>;
  connections(): Promise<ConnectionView[]>;
  polls(): Promise<PollView[]>;
  rules(): Promise<RuleView[]>;
  configuration(node?: string): Promise<KeyView[]>;
}

/** Selects lines of the journal. */
export interface LineSelection {
  topic?: string;
  group?: string;
  /** Such as "PopMessage": the same for both protocols. */
  operation?: string;
  message?: string;
  client?: string;
  event?: "responded" | "parked" | "refused" | "pushed" | "faulted";
  /** A broker, "namesrv" or "proxy". */
  node?: string;
  /** The name of a request in its protocol. */
  label?: string;
  request?: string;
  connection?: string;
}

/** Selects a part of the journal. */
export interface LineRange extends LineSelection {
  /** The index of the first line. */
  since?: number;
  /** The maximum number of lines. */
  limit?: number;
}

/** The requests of clients and their outcomes. */
export interface Journal {
  read(wanted?: LineRange): Promise<JournalPage>;
  clear(): Promise<number>;
  export(wanted?: LineSelection & { messages?: boolean }): Promise<string>;
  follow(wanted?: LineRange): AsyncGenerator<JournalEvent, void, void>;
}

/** Keeps states of an emulator. */
export interface Snapshots {
  create(): Promise<Snapshot>;
  list(): Promise<Snapshot[]>;
  delete(id: string): Promise<void>;
  restore(id: string): Promise<void>;
  save(): Promise<Buffer>;
  load(content: Uint8Array): Promise<void>;
}

/** A user of the brokers. Actions by resource: { "Topic:orders": ["Pub", "Get"] }. */
export interface NewUser {
  name: string;
  password: string;
  /** True for a user with all rights. */
  super?: boolean;
  allow?: Record<string, string | string[]>;
  deny?: Record<string, string | string[]>;
}

/** Ports and advertised addresses of a fork. */
export interface ForkOptions {
  nameServerPort?: number;
  brokerPort?: number;
  grpcPort?: number;
  controlPort?: number;
  advertise?: string[];
}

/** A rule of faults: criteria, one fault, and how often it fires. */
export interface NewRule {
  name?: string;
  when?: Record<string, unknown>;
  then: string | Record<string, unknown>;
  nth?: number | number[];
  every?: number;
  after?: number;
  times?: number;
  probability?: number;
  /** False accepts response codes that a request never gets. */
  strict?: boolean;
}

export interface Rule {
  readonly name: string;
  fired(): Promise<number>;
  events(): Promise<RuleEvents>;
  remove(): Promise<void>;
}

export interface Faults {
  add(rule: NewRule): Promise<Rule>;
  addAll(rules: NewRule[]): Promise<Rule[]>;
  list(): Promise<RuleState[]>;
  addPreset(name: string, parameters?: Record<string, unknown>): Promise<string[]>;
  clear(): Promise<void>;
}

export interface StartOptions {
  /** The context of a test of node:test, after which the emulator ends. */
  t?: { after(hook: () => unknown): void; signal?: AbortSignal; name?: string; fullName?: string };
  /** Topics to create: NAME, NAME:TYPE or NAME:TYPE:QUEUES. */
  topics?: string[];
  /**
   * "fork", the default, gives the test an emulator of its own. With "reset" tests use the same emulator with the same
   * ports, which is reset for each of them, one test at a time.
   */
  isolation?: "fork" | "reset";
  /** Start a process for this emulator alone. */
  own?: boolean;
  /** The path of rocketmq-emulator. */
  command?: string;
  /** Further options of the command. */
  args?: string[];
  /**
   * The longest wait for tests of other processes that use the emulator of ROCKETMQ_CONTROL_URL: "1m", or in Jest "4s",
   * less than its limit of 5 s for a test or hook.
   */
  holdTimeout?: Duration;
}

/** A refusal of the control port. */
export class ControlError extends Error {
  readonly type: string;
  readonly status: number;
  readonly field?: string;
  readonly nearest?: string;
}

/**
 * The connection that held an emulator for a test was lost before the test ended, because the emulator stopped or the
 * connection was cut.
 */
export class HoldLost extends Error {}

/** A running emulator: name server, broker and gRPC proxy. */
export class RocketMQ {
  private constructor();
  static start(options?: StartOptions): Promise<RocketMQ>;
  static connect(controlUrl: string, token?: string): Promise<RocketMQ>;
  readonly endpoint: string;
  readonly nameServer: string;
  readonly broker: string;
  readonly controlUrl: string;
  readonly control: Control;
  readonly clock: Clock;
  readonly brokers: Brokers;
  readonly faults: Faults;
  readonly inspect: Inspection;
  readonly journal: Journal;
  readonly snapshots: Snapshots;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Resolves to a function that ends the hold. It throws HoldLost if the connection was lost before. */
  hold(name: string, options?: { timeout?: Duration; signal?: AbortSignal }): Promise<() => void>;
  reset(options?: {
    keepConnections?: boolean;
    /** The time after the reset. A fork with messages, such as that of a test, refuses a time before it was made. */
    startAt?: Date | string;
    time?: "real" | "frozen";
  }): Promise<void>;
  mapped(addresses: { nameServer: string; broker: string; endpoint: string }): Promise<RocketMQ>;
  advertise(server: string, address: string | null): Promise<void>;
  fork(options?: ForkOptions): Promise<RocketMQ>;
  forks(): Promise<ForkInfo[]>;
  createTopic(
    name: string,
    settings?: { type?: string; queues?: number; broker?: string; cluster?: string },
  ): Promise<void>;
  topics(options?: { system?: boolean }): Promise<TopicInfo[]>;
  topic(name: string): Promise<TopicInfo>;
  deleteTopic(name: string): Promise<void>;
  createGroup(
    name: string,
    settings?: { orderly?: boolean; retryMaxTimes?: number; consumeEnable?: boolean },
  ): Promise<void>;
  groups(options?: { system?: boolean }): Promise<GroupInfo[]>;
  group(name: string): Promise<GroupState>;
  deleteGroup(name: string, options?: { keepOffsets?: boolean }): Promise<void>;
  resetOffset(group: string, topic: string, to: string | number): Promise<void>;
  explainGroup(group: string): Promise<IdleExplanation>;
  explainClient(client: string): Promise<IdleExplanation>;
  clients(): Promise<ClientInfo[]>;
  putUser(user: NewUser): Promise<void>;
  expireClient(client: string): Promise<void>;
  send(topic: string, message: string | Uint8Array | NewMessage): Promise<Message>;
  messages(topic: string): Promise<Message[]>;
  texts(topic: string): Promise<string[]>;
  deadLetters(group: string): Promise<Message[]>;
  retryMessages(group: string): Promise<Message[]>;
  halfMessages(topic?: string): Promise<Message[]>;
  discardedMessages(topic?: string): Promise<Message[]>;
  explain(message: string, group?: string, options?: { topic?: string }): Promise<Explanation>;
  history(message: string, options?: { group?: string; topic?: string }): Promise<History>;
  warnings(): Promise<Warning[]>;
  metrics(): Promise<string>;
  receiveMetrics(): Promise<ReceiveMetrics>;
  certificateAuthority(): Promise<string>;
  waitForConsumer(group: string, options?: { assigned?: boolean; timeout?: Duration }): Promise<void>;
  waitForProducer(name: string, options?: { timeout?: Duration }): Promise<void>;
  assertBodies(topic: string, bodies: (string | Uint8Array)[], options?: { inOrder?: boolean }): Promise<void>;
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
