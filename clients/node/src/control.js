import { AssertionError } from "node:assert";
import * as http from "node:http";
import * as https from "node:https";
import { buffer as bufferOf, json as jsonOf, text as textOf } from "node:stream/consumers";

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
/**
 * The time (ms) without a response after which another request checks that the emulator responds at all, and the limit of
 * that request. A request may take longer: a jump waits for clients.
 */
const CHECK_MS = 30_000;
const CHECK_PATH = "/healthz";
/** What to do about an emulator that does not respond. */
export const IF_PAUSED = "check that the emulator's process is not paused, and start it again if it does not respond";
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

/** An emulator does not respond in time. */
class NoResponse extends Error {}

/** Sends requests to a control port. */
export class Control {
  #checkMs;

  constructor(url, token, { checkMs = CHECK_MS } = {}) {
    this.url = url.replace(/\/+$/, "");
    this.token = token;
    this.#checkMs = checkMs;
  }

  get(path, query = {}) {
    return this.request("GET", withQuery(path, query));
  }

  /** Resolve to the response to GET as text. */
  text(path, query = {}) {
    return this.#read("GET", withQuery(path, query), undefined, textOf);
  }

  /** Resolve to the response to GET as a Buffer. */
  bytes(path) {
    return this.#read("GET", path, undefined, bufferOf);
  }

  /** Resolve to the response to GET as a stream, which need not end. */
  stream(path, query = {}) {
    return this.#open("GET", withQuery(path, query));
  }

  /** Resolve to the addresses of the emulator. */
  ready(limitMs = READY_MS) {
    return this.#read("GET", "/readyz", undefined, jsonOf, limitMs);
  }

  post(path, body) {
    return this.request("POST", path, body);
  }

  delete(path) {
    return this.request("DELETE", path);
  }

  request(method, path, body) {
    return this.#read(method, path, body, jsonOf);
  }

  /**
   * Send a request whose response lasts, such as a hold, and resolve to a LastingResponse. `signal` ends the wait for the
   * response.
   */
  async keepOpen(method, path, body, { signal, silenceMs } = {}) {
    signal?.throwIfAborted();
    const sent = this.#request(method, path, body);
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

  /** Send a request and resolve to what a function returns about its response. */
  async #read(method, path, body, content, limitMs) {
    const response = await this.#open(method, path, body, limitMs);
    try {
      return await content(response);
    } catch (cause) {
      throw cause instanceof NoResponse || cause instanceof SyntaxError ? cause : this.#unreachable(cause);
    }
  }

  /**
   * Send a request and resolve to its response, a stream. As long as nothing arrives, other requests check that the
   * emulator responds. If it does not, the request ends with an error. `limitMs` ends it without these requests.
   */
  async #open(method, path, body, limitMs) {
    const name = `${method} ${path}`;
    let sent;
    let response;
    try {
      sent = this.#request(method, path, body);
      sent.once("socket", (socket) => this.#watch(socket, name, limitMs, (error) => (response ?? sent).destroy(error)));
      response = await new Promise((resolve, reject) => {
        sent.once("response", resolve);
        sent.on("error", reject);
        sent.end(body === undefined ? undefined : JSON.stringify(body));
      });
    } catch (cause) {
      throw cause instanceof NoResponse ? cause : this.#unreachable(cause);
    }
    if (response.statusCode < 300) return response;
    throw refusal(method, path, { status: response.statusCode }, await textOf(response));
  }

  /** Call `end` with an error if nothing arrives at the socket of a request, and the emulator does not respond. */
  #watch(socket, name, limitMs, end) {
    let noticed = 0;
    let quietAt = performance.now();
    socket.setTimeout(limitMs ?? this.#checkMs);
    socket.on("timeout", async () => {
      const received = socket.bytesRead;
      if (received > noticed) {
        noticed = received;
        quietAt = performance.now() - this.#checkMs; // the event follows the last bytes after this time
      }
      if (limitMs === undefined && ((await this.#responds()) || socket.bytesRead > received)) {
        socket.setTimeout(this.#checkMs);
        return;
      }
      const waited = seconds(performance.now() - quietAt);
      const text =
        limitMs === undefined
          ? `responded neither to ${name} for ${waited} nor to GET ${CHECK_PATH} for ${seconds(this.#checkMs)}`
          : `not responded to ${name} within ${seconds(limitMs)}`;
      end(new NoResponse(`${this.url}: the control port has ${text}; ${IF_PAUSED}`));
    });
  }

  /** Resolve to true if the emulator responds in time to a request that takes no time. */
  async #responds() {
    try {
      await this.#read("GET", CHECK_PATH, undefined, textOf, this.#checkMs);
      return true;
    } catch (error) {
      return error instanceof ControlError;
    }
  }

  /** Return a request over a connection of its own, which is not sent yet. */
  #request(method, path, body) {
    const url = new URL(this.url + path);
    const { request } = url.protocol === "https:" ? https : http;
    return request(url, { method, headers: this.#headers(body), agent: false });
  }

  #headers(body) {
    const headers = {};
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    return headers;
  }

  #unreachable(cause) {
    const why = cause.message || cause.code; // an AggregateError has no message
    return new Error(`${this.url}: the control port does not respond (${why}); does the emulator run?`, { cause });
  }
}

const seconds = (milliseconds) => `${Math.round(milliseconds) / 1000} s`;

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
