import { segment } from "./control.js";
import { listOf, read } from "./values.js";

/** The rules by which an emulator loses, delays or refuses what clients and broker exchange. */
export class Faults {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Add a rule, such as { when: { operation: "SendMessage" }, then: "drop_response", times: 1 }. */
  async add(rule) {
    return (await this.addAll([rule]))[0];
  }

  /** Add rules, all of them or none. */
  async addAll(rules) {
    const { names } = await this.#control.post("/v1/faults", { rules });
    return names.map((name) => new Rule(this.#control, name));
  }

  /** Resolve to all rules in the order in which they were added. */
  async list() {
    return listOf("RuleState", await this.#control.get("/v1/faults"), "rules");
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
    return (await this.events()).fired;
  }

  /** Resolve to the rule, its matches and firings so far, and its last 100 firings. */
  async events() {
    return read("RuleEvents", await this.#control.get(`/v1/faults/${segment(this.name)}`));
  }

  /** Remove the rule. */
  async remove() {
    await this.#control.delete(`/v1/faults/${segment(this.name)}`);
  }
}
