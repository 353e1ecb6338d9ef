/** The clock of an emulator. A jump waits for connected clients. */
export class Clock {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Return the emulator's time. */
  async now() {
    return new Date((await this.#control.get("/v1/clock")).now_ms);
  }

  /** Move the clock forward by a duration such as "30s". */
  async advance(by) {
    await this.#control.post("/v1/clock/advance", { by });
  }

  /** Move the clock to the next scheduled event, such as a redelivery. */
  async advanceToNext() {
    await this.#control.post("/v1/clock/advance_to_next", {});
  }

  /**
   * Move the clock from event to event until a condition is true: a function, which may be asynchronous, or an object
   * about a topic or a group. `limit` is how far the clock may jump in all.
   */
  async advanceUntil(condition, limit = "1d") {
    if (typeof condition === "function") return this.#search(condition, limit);
    const { topic, messages, group, lag, acknowledged, members, deadLetters } = condition;
    const fields = { topic, messages, group, lag, acknowledged, members, dead_letters: deadLetters, limit };
    await this.#control.post("/v1/clock/advance_until", fields);
  }

  async #search(condition, limit) {
    const { id } = await this.#control.post("/v1/clock/searches", { limit });
    while (!(await condition())) {
      await this.#control.post(`/v1/clock/searches/${id}/step`);
    }
  }
}
