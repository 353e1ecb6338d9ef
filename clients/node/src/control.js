import { AssertionError } from "node:assert";
import * as http from "node:http";
import * as https from "node:https";
import { text as textOf } from "node:stream/consumers";

/** A refusal of the control port (application/problem+json). */
export class ControlError extends Error {
  constructor(problem) {
    super(problem.detail);
    this.name = "ControlError";
    this.type = problem.type;
    this.status = problem.status;
    this.field = problem.field;
    this.nearest = problem.nearest;
  }
}

/** The longest time (ms) until a running emulator returns its addresses. */
const READY_MS = 30_000;
/** The longest time (ms) without a line in a lasting response, of which the emulator sends one every 15 s. */
const SILENCE_MS = 120_000;

/** A response that lasts until `end()`, such as that of a hold. Its connection does not keep the process alive. */
class LastingResponse {
  #sent;
  #isOver = false;
  #isEnded = false;

  constructor(sent, response, silenceMs = SILENCE_MS) {
    this.#sent = sent;
    const over = () => {
      this.#isOver = true;
    };
    response.on("error", over); // without a listener it would end the process
    response.on("close", over);
    response.socket.setKeepAlive(true, 15_000);
    response.socket.setTimeout(silenceMs, () => {
      over();
      sent.destroy();
    });
    response.resume();
    response.socket.unref();
  }

  /** End the response, and return false if it had ended before, such as with the emulator. A second call returns true. */
  end() {
    const lasted = this.#isEnded || !this.#isOver;
    this.#isEnded = true;
    this.#sent.destroy();
    return lasted;
  }
}

/** Sends requests to a control port. */
export class Control {
  constructor(url, token) {
    this.url = url.replace(/\/+$/, "");
    this.token = token;
  }

  get(path, query = {}) {
    return this.request("GET", withQuery(path, query));
  }

  /** Resolve to the response to GET as text. */
  async text(path, query = {}) {
    return (await this.#exchange("GET", withQuery(path, query))).text();
  }

  /** Resolve to the response to GET as a Buffer. */
  async bytes(path) {
    return Buffer.from(await (await this.#exchange("GET", path)).arrayBuffer());
  }

  /** Resolve to the response to GET as a stream, which need not end. */
  async stream(path, query = {}) {
    return (await this.#exchange("GET", withQuery(path, query))).body;
  }

  /** Resolve to the addresses of the emulator. */
  ready() {
    return this.request("GET", "/readyz", undefined, AbortSignal.timeout(READY_MS));
  }

  post(path, body) {
    return this.request("POST", path, body);
  }

  delete(path) {
    return this.request("DELETE", path);
  }

  async request(method, path, body, signal) {
    return (await this.#exchange(method, path, body, signal)).json();
  }

  /**
   * Send a request whose response lasts, such as a hold, and resolve to a LastingResponse. `signal` ends the wait for the
   * response.
   */
  async keepOpen(method, path, body, { signal, silenceMs } = {}) {
    signal?.throwIfAborted();
    const url = new URL(this.url + path);
    const { request } = url.protocol === "https:" ? https : http;
    const sent = request(url, { method, headers: this.#headers(body), agent: false });
    const abandon = () => sent.destroy(signal.reason);
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      const response = await new Promise((resolve, reject) => {
        sent.once("response", resolve);
        sent.on("error", (cause) => reject(signal?.aborted ? cause : this.#unreachable(cause)));
        sent.end(body === undefined ? undefined : JSON.stringify(body));
      });
      if (response.statusCode >= 300) {
        throw refusal(method, path, { status: response.statusCode }, await textOf(response));
      }
      return new LastingResponse(sent, response, silenceMs);
    } catch (error) {
      sent.destroy();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
  }

  async #exchange(method, path, body, signal) {
    let response;
    try {
      response = await fetch(this.url + path, {
        method,
        headers: this.#headers(body),
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
      });
    } catch (cause) {
      throw this.#unreachable(cause);
    }
    if (response.ok) return response;
    throw refusal(method, path, response, await response.text());
  }

  #headers(body) {
    const headers = {};
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    return headers;
  }

  #unreachable(cause) {
    return new Error(`${this.url}: the control port does not respond; does the emulator run?`, { cause });
  }
}

function withQuery(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

function refusal(method, path, response, text) {
  let problem;
  try {
    problem = JSON.parse(text);
  } catch {
    problem = { detail: `${method} ${path}: HTTP ${response.status}: ${text}`, status: response.status };
  }
  if (problem.type?.endsWith(":assertion-failed")) return new AssertionError({ message: problem.detail });
  return new ControlError(problem);
}

/** Escape a name for one segment of a path. */
export const segment = encodeURIComponent;
