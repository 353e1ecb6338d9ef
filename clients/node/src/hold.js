import { basename } from "node:path";

import { IF_PAUSED } from "./control.js";

/** The most characters of the name of a hold. */
const NAME_MAX = 200;
/** The longest wait for a test of another process. Jest fails a test or hook after 5 s, without the name of the holder. */
const WAIT = "1m";
const WAIT_OF_JEST = "4s";
/** The time (ms) that a response may take longer than the wait that the request asks for. */
const ANSWER_MS = 10_000;
const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The longest delay (ms) of a timer of Node. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** The connection that held an emulator for a test was lost before the test ended. */
export class HoldLost extends Error {
  constructor(url, name) {
    super(
      `${url}: the hold of ${name} was lost before its end, because the emulator stopped or the connection was cut; ` +
        "another test may have reset the emulator meanwhile; check that the emulator runs until all tests have ended, " +
        "and run the test again",
    );
    this.name = "HoldLost";
  }
}

/** Wait for the hold of an emulator, and resolve to the function that ends it. The function throws HoldLost. */
export async function hold(control, name, { timeout = WAIT, signal, answerMs = ANSWER_MS, silenceMs } = {}) {
  const silent = AbortSignal.timeout(Math.min(milliseconds(timeout) + answerMs, DELAY_MAX_MS));
  const either = new AbortController();
  const end = (event) => either.abort(event.target.reason);
  for (const each of [signal, silent]) each?.addEventListener("abort", end, { once: true });
  try {
    signal?.throwIfAborted();
    const response = await control.keepOpen("POST", "/v1/hold", { name, timeout }, { signal: either.signal, silenceMs });
    return () => {
      if (!response.end()) throw new HoldLost(control.url, name);
    };
  } catch (error) {
    if (silent.aborted && !signal?.aborted) {
      throw new Error(
        `${control.url}: the control port has not responded to a request for its hold, which waits ${timeout} at most; ` +
          IF_PAUSED,
        { cause: error },
      );
    }
    if (error.status !== 404) throw error;
    throw new Error(
      `${control.url}: this emulator is older than the package, and cannot be held by one test at a time; update ` +
        "the emulator to the version of the package",
    );
  } finally {
    for (const each of [signal, silent]) each?.removeEventListener("abort", end);
  }
}

/** Return the milliseconds of a duration, such as 1m. The control port refuses a text that is no duration. */
function milliseconds(duration) {
  const [, number, unit] = /^ *([\d.]+) *(ms|s|m|h|d) *$/.exec(duration) ?? [];
  return unit === undefined ? 0 : Number(number) * UNITS_MS[unit];
}

/** A test that uses an emulator alone: `t` of node:test, the present test of Jest, or the program. */
export class Holder {
  constructor(t) {
    const end = ` (pid ${process.pid})`;
    const name = t?.fullName ?? t?.name ?? testOfJest() ?? basename(process.argv[1] ?? process.title);
    /** The name of its hold: test and process. */
    this.name = [...name].slice(0, NAME_MAX - end.length).join("") + end;
    this.isWaiting = true;
    this.ending = new AbortController();
    if (t?.signal?.aborted) this.abandon();
    t?.signal?.addEventListener("abort", () => this.abandon(), { once: true });
  }

  /** The signal that ends the wait of a test that has ended. */
  get signal() {
    return this.ending.signal;
  }

  /** End the wait of a test that has ended. */
  abandon() {
    this.ending.abort(new Error(`${this.name}: the test ended while it waited for its emulator; wait for RocketMQ.start()`));
  }
}

const isJest = process.env.JEST_WORKER_ID !== undefined;

/** The default wait for a test of another process. */
export const DEFAULT_WAIT = isJest ? WAIT_OF_JEST : WAIT;

/** Call a function after each test of Jest, which has no signal for a test that it has ended at its limit. */
export function afterTestsOfJest(action) {
  if (!isJest) return;
  for (const hook of ["afterEach", "afterAll"]) {
    try {
      globalThis[hook]?.(action);
    } catch {
      // A test imports the package itself, and Jest allows hooks only outside of tests.
    }
  }
}

/** Return file and name of the test that Jest runs; undefined without Jest. */
function testOfJest() {
  const { testPath, currentTestName } = globalThis.expect?.getState?.() ?? {};
  if (testPath === undefined) return undefined;
  return currentTestName === undefined ? basename(testPath) : `${basename(testPath)}: ${currentTestName}`;
}
