/** Assertions about messages, groups and clients. Each rejects with an AssertionError that has the messages' history. */
export class Assertions {
  /** The control port, which a subclass sets. */
  control;

  /** A topic holds messages with exactly these bodies, texts or bytes: in any order, or `inOrder`. */
  async assertBodies(topic, bodies, { inOrder = false } = {}) {
    const areTexts = bodies.every((each) => typeof each === "string");
    const expected = areTexts ? { texts: bodies } : { bodies: bodies.map(base64) };
    await this.#check("bodies", { topic, ...expected, in_any_order: !inOrder });
  }

  /** Messages were sent; with `times`, exactly this number. */
  async assertSent(about) {
    await this.#check("sent", about);
  }

  /** No such message was sent. */
  async assertNotSent(about) {
    await this.#check("not_sent", about);
  }

  /** The messages were delivered, to `group` and `client` if they are given; with `times`, exactly this often. */
  async assertDelivered(about) {
    await this.#check("delivered", about);
  }

  /** No such message was delivered. */
  async assertNotDelivered(about) {
    await this.#check("not_delivered", about);
  }

  /** `group` has acknowledged the messages. */
  async assertAcknowledged(about) {
    await this.#check("acknowledged", about);
  }

  /** `group` received the messages again; with `times`, exactly this often. */
  async assertRetried(about) {
    await this.#check("retried", about);
  }

  /** The messages are dead letters of `group`. */
  async assertInDlq(about) {
    await this.#check("in_dlq", about);
  }

  /** `group` received the messages in the order of sending, `by` "message_group", "queue" or "key". */
  async assertOrdered(about) {
    await this.#check("ordered", about);
  }

  /** `group` has acknowledged each message that was sent to the topic, or has it as a dead letter. */
  async assertNoLoss(about) {
    await this.#check("no_loss", about);
  }

  /** No message was delivered to `group` more than once. */
  async assertNoDuplicates(about) {
    await this.#check("no_duplicates", about);
  }

  /** The broker has sent `times` transaction checks about the messages. */
  async assertChecked(about) {
    await this.#check("checked", about);
  }

  /** The transactions of the messages were committed. */
  async assertCommitted(about) {
    await this.#check("committed", about);
  }

  /** The transactions of the messages were rolled back. */
  async assertRolledBack(about) {
    await this.#check("rolled_back", about);
  }

  /** The broker delivers the messages at the Date `instant`, or up to `tolerance` before or after it. */
  async assertDelayedUntil({ instant, ...about }) {
    await this.#check("delayed_until", { ...about, instant: instant.getTime() });
  }

  /**
   * `group`, or each group, has no message that is available, in flight, delayed or half. Without `group`, every client
   * has also responded to the requests of brokers.
   */
  async assertIdle(about = {}) {
    await this.#check("idle", about);
  }

  /** `group` has exactly `lag` unfinished messages. */
  async assertLag(about) {
    await this.#check("lag", about);
  }

  /** `count` consumers of `group` are connected. */
  async assertConsumers(about) {
    await this.#check("consumers", about);
  }

  /** All members of `group` have the same subscriptions. */
  async assertSubscriptionsAgree(about) {
    await this.#check("subscriptions_agree", about);
  }

  /** No request of a client was refused, apart from codes that SDKs expect. */
  async assertNoErrors(about = {}) {
    await this.#check("no_errors", about);
  }

  async #check(name, { messageGroup, body, ...about }) {
    const fields = { ...about, message_group: messageGroup, body: body && base64(body) };
    await this.control.post(`/v1/assertions/${name}`, fields);
  }
}

const base64 = (body) => Buffer.from(body).toString("base64");
