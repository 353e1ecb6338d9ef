import { listOf, read } from "./values.js";

/** Stops, starts and configures brokers: broker-b is a master, broker-b:1 a slave, by name and id. */
export class Brokers {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Resolve to all brokers in the order of their configuration. */
  async list() {
    return listOf("BrokerInfo", await this.#control.get("/v1/brokers"), "brokers");
  }

  /** Resolve to all configuration keys with their values. */
  async configuration() {
    return read("Configuration", await this.#control.get("/v1/config"));
  }

  /**
   * Crash a running broker, by default the first master, and the gRPC proxy, and start them again at once. Data that was
   * not flushed is lost, unless `powerLoss` is false.
   */
  async crash(broker = undefined, { powerLoss } = {}) {
    await this.#control.post("/v1/crash", { broker, power_loss: powerLoss });
  }

  /** Restart a running broker, by default the first master, and the gRPC proxy gracefully. */
  async restart(broker = undefined) {
    await this.#control.post("/v1/restart", { broker });
  }

  /** Stop a broker: gracefully, or with `kill` as a crash does. */
  async stop(broker, { kill = false } = {}) {
    await this.#control.post("/v1/brokers/stop", { broker, kill });
  }

  /** Start a stopped broker. */
  async start(broker) {
    await this.#control.post("/v1/brokers/start", { broker });
  }

  /** Change configuration keys of all brokers or of one, all keys or none. */
  async configure(keys, { broker } = {}) {
    await this.#control.request("PATCH", "/v1/config", { keys, broker });
  }
}
