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

  post(path, body) {
    return this.request("POST", path, body);
  }

  delete(path) {
    return this.request("DELETE", path);
  }

  async request(method, path, body) {
    return (await this.#exchange(method, path, body)).json();
  }

  /**
   * Send a request whose response lasts, such as a hold, and resolve to a function that ends it. The open connection does
   * not keep the process alive. `signal` ends the wait for the response.
   */
  async keepOpen(method, path, body, signal) {
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
      response.on("error", () => {}); // the emulator has ended, and the response with it
      if (response.statusCode >= 300) {
        throw refusal(method, path, { status: response.statusCode }, await textOf(response));
      }
      response.resume();
      response.socket?.unref();
    } catch (error) {
      sent.destroy();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
    return () => sent.destroy();
  }

  async #exchange(method, path, body) {
    let response;
    try {
      response = await fetch(this.url + path, {
        method,
        headers: this.#headers(body),
        body: body === undefined ? undefined : JSON.stringify(body),
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
