import { read } from "./values.js";

/** The requests of clients and their outcomes. */
export class Journal {
  #control;

  constructor(control) {
    this.#control = control;
  }

  /** Resolve to lines, oldest first: those with all fields of `wanted`, from the index `since`, at most `limit`. */
  async read(wanted = {}) {
    return read("JournalPage", await this.#control.get("/v1/journal", wanted));
  }

  /** Delete all lines. Resolves to their number. Later lines count from 0. */
  async clear() {
    return (await this.#control.delete("/v1/journal")).deleted;
  }

  /**
   * Resolve to lines as a file in JSON Lines that rocketmq-audit and rocketmq-replay read; unless `messages` is false,
   * with the messages that topics hold now.
   */
  export(wanted = {}) {
    return this.#control.text("/v1/journal/export", wanted);
  }

  /**
   * Iterate over the lines that the journal has and gets. The iteration waits for further lines, unless `wanted` has a
   * limit: leave the loop to end it. Lines count from 0 again after `clear()` and a reset.
   */
  async *follow(wanted = {}) {
    let event;
    for await (const line of linesOf(await this.#control.stream("/v1/journal/follow", wanted))) {
      const [name, value] = split(line);
      if (name === "event") event = value;
      if (name !== "data" || event === "cleared") continue;
      if (event === "dropped") {
        throw new Error(
          `the journal dropped lines before they were read; select fewer lines, or handle them faster: ${value}`,
        );
      }
      yield read("JournalEvent", JSON.parse(value));
    }
  }
}

function split(line) {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2)];
}

async function* linesOf(stream) {
  let text = "";
  for await (const part of stream.setEncoding("utf8")) {
    const lines = (text + part).split("\n");
    text = lines.pop();
    yield* lines;
  }
}
