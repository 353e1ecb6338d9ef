import { segment } from "./control.js";

/** The rules by which an emulator loses, delays or refuses what clients and broker exchange. */
export class Faults {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Add a rule, such as { when: { operation: "SendMessage" }, then: "drop_response", times: 1 }. */
  async add(rule) {
    const { names } = await this.#control.post("/v1/faults", rule);
    return new Rule(this.#control, names[0]);
  }

  /** Add the rules of a preset, such as "flaky-network". Resolves to their names. */
  async addPreset(name, parameters) {
    const preset = parameters === undefined ? name : { [name]: parameters };
    return (await this.#control.post("/v1/faults", { preset })).names;
  }

  /** Remove all rules. */
  async clear() {
    await this.#control.delete("/v1/faults");
  }
}

/** A rule of a running emulator. */
export class Rule {
  #control;

  constructor(control, name) {
    this.#control = control;
    this.name = name;
  }

  /** Resolve to how often the rule has fired. */
  async fired() {
    return (await this.#control.get(`/v1/faults/${segment(this.name)}`)).fired;
  }

  /** Remove the rule. */
  async remove() {
    await this.#control.delete(`/v1/faults/${segment(this.name)}`);
  }
}
