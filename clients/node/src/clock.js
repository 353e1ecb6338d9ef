import { listOf } from "./values.js";

/** The clock of an emulator. A jump waits for connected clients. */
export class Clock {
  #control;
  #wait;

  constructor(control, wait = undefined) {
    this.#control = control;
    this.#wait = wait;
  }

  /** Return this clock with another longest wait for one response of a client, in real time. The default is "10s". */
  waitingAtMost(wait) {
    return new Clock(this.#control, wait);
  }

  /** Resolve to true if the clock moves only by jumps. */
  async isFrozen() {
    return (await this.#control.get("/v1/clock")).frozen;
  }

  /** Resolve to the scheduled events, such as redeliveries, the earliest first, at most `limit`. */
  async scheduled({ limit } = {}) {
    return listOf("ScheduledEvent", await this.#control.get("/v1/clock/scheduled", { limit }), "scheduled");
  }

  /** Return the emulator's time. */
  async now() {
    return new Date((await this.#control.get("/v1/clock")).now_ms);
  }

  /** Move the clock forward by a duration such as "30s". */
  async advance(by) {
    await this.#control.post("/v1/clock/advance", { by, wait: this.#wait });
  }

  /** Move the clock to the next scheduled event, such as a redelivery. */
  async advanceToNext() {
    await this.#control.post("/v1/clock/advance_to_next", { wait: this.#wait });
  }

  /**
   * Move the clock from event to event until a condition is true: a function, which may be asynchronous, or an object
   * about a topic or a group. `limit` is how far the clock may jump in all.
   */
  async advanceUntil(condition, limit = "1d") {
    if (typeof condition === "function") return this.#search(condition, limit);
    const { topic, messages, group, lag, acknowledged, members, deadLetters } = condition;
    const fields = { topic, messages, group, lag, acknowledged, members, dead_letters: deadLetters };
    await this.#control.post("/v1/clock/advance_until", { ...fields, limit, wait: this.#wait });
  }

  async #search(condition, limit) {
    const { id } = await this.#control.post("/v1/clock/searches", { limit, wait: this.#wait });
    while (!(await condition())) {
      await this.#control.post(`/v1/clock/searches/${id}/step`);
    }
  }
}
