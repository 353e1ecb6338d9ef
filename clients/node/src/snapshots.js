import { segment } from "./control.js";
import { listOf, read } from "./values.js";

/** Keeps states of an emulator, to which it can return. */
export class Snapshots {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Keep the present state, with all messages, offsets and the time. */
  async create() {
    return read("Snapshot", await this.#control.post("/v1/snapshots"));
  }

  /** Resolve to the kept snapshots, oldest first. */
  async list() {
    return listOf("Snapshot", await this.#control.get("/v1/snapshots"), "snapshots");
  }

  /** Delete a kept snapshot. */
  async delete(id) {
    await this.#control.delete(`/v1/snapshots/${segment(id)}`);
  }

  /** Return to a kept snapshot. Connections of clients are closed. */
  async restore(id) {
    await this.#control.post("/v1/restore", { snapshot: id });
  }

  /** Resolve to the present state as the content of a file, a Buffer. */
  save() {
    return this.#control.bytes("/v1/snapshot");
  }

  /** Return to the state of a file that `save()` has returned, also of another emulator. */
  async load(content) {
    await this.#control.post("/v1/restore", { content: Buffer.from(content).toString("base64") });
  }
}
