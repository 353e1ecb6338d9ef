'use strict';
// What a caller scripted: what the listener of a push consumer does, and what a producer answers to checks.

const { bad, isObject } = require('./line');

const WORDS = ['COMMIT', 'ROLLBACK', 'UNKNOWN'];

/** Stands for every body that a map does not name. */
const OTHERS = '*';
const of = (table, text) => table[text] ?? table[OTHERS];
const textOf = message => Buffer.from(message.body, 'base64').toString();

/** What the listener of a push consumer does, from the fields of its command. */
class Script {
  calls = 0;
  #fail;
  #throw;
  #hang;
  #quiet;
  #begin;
  #seen = new Map();

  constructor(command) {
    this.#fail = command.get('counts', 'fail', {});
    this.#throw = command.get('counts', 'throw', {});
    this.#hang = command.get('counts', 'hang_ms', {});
    this.#quiet = command.get('flag', 'quiet', false);
    this.#begin = command.get('flag', 'begin', false);
  }

  /** All of the listener but its last step: wait, tell the caller about the message, return what is to be done now. */
  async listen(driver, name, message) {
    const now = Date.now();
    this.calls += 1;
    if (this.#begin) driver.write({ ev: 'begin', of: name, t: now, msg: message });
    const text = textOf(message);
    const ms = of(this.#hang, text);
    if (ms) await new Promise(resolve => setTimeout(resolve, ms));
    const did = this.#act(message, text);
    if (!this.#quiet) driver.write({ ev: 'msg', of: name, t: now, ok: did === 'success', did, msg: message });
    return did;
  }

  // The attempt is the higher one of what the SDK shows and what this listener has counted: another consumer of the
  // group may have had the earlier attempts, and local retries need not raise the number.
  #act(message, text) {
    const failing = of(this.#fail, text) ?? 0;
    const throwing = of(this.#throw, text) ?? 0;
    if (!failing && !throwing) return 'success';
    const key = `${message.id}\0${text}`;
    const counted = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, counted);
    const attempt = Math.max(counted, message.attempt ?? 1);
    if (attempt <= throwing) return 'throw';
    return attempt <= failing ? 'fail' : 'success';
  }
}

/** What a producer answers to checks: one word, a list of them, or a map from bodies to those. */
class Answers {
  #byBody = new Map();
  #asked = new Map();

  constructor(command) {
    const { check } = command.fields;
    for (const [body, form] of Object.entries(isObject(check) ? check : { [OTHERS]: check })) {
      const words = Array.isArray(form) ? form : [form];
      if (!words.length || !words.every(word => WORDS.includes(word))) {
        throw bad(`check is none of ${WORDS.join(', ')}, nor a list or a map of them`);
      }
      this.#byBody.set(body, words);
    }
  }

  /** Tells that the producer called name was asked for a transaction, and returns what it is to answer. */
  checked(driver, name, message) {
    const text = textOf(message);
    const n = (this.#asked.get(text) ?? 0) + 1;
    this.#asked.set(text, n);
    const words = this.#byBody.get(text) ?? this.#byBody.get(OTHERS) ?? ['UNKNOWN'];
    const answer = words[Math.min(n, words.length) - 1];
    const times = message.props.TRANSACTION_CHECK_TIMES;
    driver.write({
      ev: 'check',
      of: name,
      t: Date.now(),
      n,
      times: times === undefined ? null : Number(times),
      transaction: message.props.__transactionId__ ?? null,
      msg: message,
      answer,
    });
    return answer;
  }
}

module.exports = { Answers, Script };
