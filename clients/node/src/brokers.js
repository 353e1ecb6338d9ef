/** Stops, starts and configures brokers: broker-b is a master, broker-b:1 a slave, by name and id. */
export class Brokers {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Crash a running broker, by default the first master, and the gRPC proxy, and start them again at once. */
  async crash(broker = undefined) {
    await this.#control.post("/v1/crash", { broker });
  }

  /** Restart a running broker, by default the first master, and the gRPC proxy in order. */
  async restart(broker = undefined) {
    await this.#control.post("/v1/restart", { broker });
  }

  /** Stop a broker; with `kill`, as a crash does. */
  async stop(broker, { kill = false } = {}) {
    await this.#control.post("/v1/brokers/stop", { broker, kill });
  }

  /** Start a stopped broker. */
  async start(broker) {
    await this.#control.post("/v1/brokers/start", { broker });
  }

  /** Change configuration keys, all of them or none. */
  async configure(keys) {
    await this.#control.request("PATCH", "/v1/config", { keys });
  }
}
