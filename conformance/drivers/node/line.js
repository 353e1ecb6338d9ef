'use strict';
// The driver protocol (PROTOCOL.md): commands from standard input, replies and events to standard output. Knows no SDK.

const fs = require('node:fs');

/** An error of the driver itself; its kind is one of PROTOCOL.md. */
class Refusal extends Error {
  constructor(kind, text) {
    super(text);
    this.kind = kind;
  }
}

const bad = text => new Refusal('BadCommand', text);

/** Refuses a field that the SDK has no way to express, so that a test does not believe in it. */
const unsupported = text => new Refusal('Unsupported', text);

const isObject = value => value !== null && typeof value === 'object' && !Array.isArray(value);
const TYPES = {
  text: [value => typeof value === 'string', 'a text'],
  number: [Number.isInteger, 'an integer'],
  flag: [value => typeof value === 'boolean', 'true or false'],
  texts: [value => Array.isArray(value) && value.every(one => typeof one === 'string'), 'a list of texts'],
  pairs: [value => isObject(value) && Object.values(value).every(one => typeof one === 'string'), 'a map of texts'],
  counts: [value => isObject(value) && Object.values(value).every(Number.isInteger), 'a map of integers'],
  table: [value => isObject(value) && Object.values(value).every(isObject), 'a map of objects'],
};
const NEEDED = Symbol('needed');

/** The fields of one JSON object; one that is absent or null takes the default, or is refused without one. */
class Command {
  constructor(fields) {
    this.fields = fields;
  }

  has(name) {
    return this.fields[name] !== undefined && this.fields[name] !== null;
  }

  /** The field called name, of one of the TYPES. */
  get(type, name, fallback = NEEDED) {
    if (!this.has(name)) {
      if (fallback === NEEDED) throw bad(`field ${name} is missing`);
      return fallback;
    }
    const [fits, what] = TYPES[type];
    if (!fits(this.fields[name])) throw bad(`field ${name} must be ${what}`);
    return this.fields[name];
  }

  text(name, fallback = NEEDED) {
    return this.get('text', name, fallback);
  }

  number(name, fallback = NEEDED) {
    return this.get('number', name, fallback);
  }

  /** The same, undefined when it is absent, which is how SDKs of JavaScript want it. */
  maybe(type, name) {
    return this.get(type, name, null) ?? undefined;
  }

  /** Bytes, which stand there in base64. */
  bytes(name) {
    const text = this.text(name);
    // Node itself skips over what is no base64.
    if (text.length % 4 || /[^A-Za-z0-9+/=]|=[^=]/.test(text)) throw bad(`field ${name} must be base64`);
    return Buffer.from(text, 'base64');
  }

  /** The field h: one handle or a list of them. */
  handles() {
    const list = Array.isArray(this.fields.h) ? this.fields.h : [this.fields.h];
    if (!list.every(Number.isInteger)) throw bad('field h must be a handle or a list of handles');
    return list;
  }
}

/** One driver: its verbs, its named objects, and the messages that it gave handles to. */
class Driver {
  verbs = {};
  #about;
  #objects = new Map();
  #messages = [];

  /** about: the fields of hello that the SDK decides. */
  constructor(about) {
    this.#about = about;
    this.verbs.hello = () => this.#hello();
  }

  /** Runs maker if the name in `as` is free, and keeps what it resolves to under that name. */
  async make(command, maker) {
    const name = command.text('as');
    if (this.#objects.has(name)) throw bad(`an object is called ${name} already`);
    this.#objects.set(name, null);
    try {
      this.#objects.set(name, await maker(name));
    } catch (error) {
      this.#objects.delete(name);
      throw error;
    }
  }

  /** The object that `on` names, which must be of the type that the verb works with. */
  on(command, type) {
    const name = command.text('on');
    if (!this.#objects.has(name)) throw new Refusal('UnknownObject', `no object is called ${name}`);
    const found = this.#objects.get(name);
    if (!(found instanceof type)) throw bad(`${name} is not a client for this verb`);
    return found;
  }

  /** Removes the object that `on` names and returns it. */
  take(command) {
    const found = this.on(command, Object);
    this.#objects.delete(command.text('on'));
    return found;
  }

  /** Gives a received message a handle. All are kept: a test may acknowledge one twice, or late. */
  keep(view) {
    return this.#messages.push(view);
  }

  /** The messages of the handles in `h`. */
  kept(command) {
    return command.handles().map(handle => {
      const view = this.#messages[handle - 1];
      if (!view) throw new Refusal('UnknownHandle', `handle ${handle} was never given out`);
      return view;
    });
  }

  /** Carries out commands until the end of input, which ends the process. */
  run() {
    let rest = Buffer.alloc(0);
    let turn = Promise.resolve();
    process.stdin.on('data', piece => {
      rest = rest.length ? Buffer.concat([rest, piece]) : piece;
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const line = rest.toString('utf8', 0, end);
        rest = rest.subarray(end + 1);
        turn = turn.then(() => this.#perform(line));
      }
    });
    process.stdin.on('end', () => process.exit(0));
  }

  #perform(line) {
    let fields;
    try {
      fields = JSON.parse(line);
    } catch (error) {
      return this.#fail(null, bad(error.message));
    }
    if (!isObject(fields)) return this.#fail(null, bad('not a JSON object'));
    if (fields.do === 'exit') {
      this.write({ i: fields.i, ok: true });
      process.exit(0);
    }
    const done = this.#carryOut(new Command(fields));
    return fields.bg === true ? undefined : done;
  }

  async #carryOut(command) {
    const number = command.fields.i ?? null;
    const begin = performance.now();
    try {
      const verb = command.text('do');
      if (!Object.hasOwn(this.verbs, verb)) throw new Refusal('UnknownVerb', `this driver has no verb ${verb}`);
      const reply = await this.verbs[verb](command);
      this.write({ i: number, ok: true, ms: since(begin), ...reply });
    } catch (error) {
      this.#fail(number, error, since(begin));
    }
  }

  #fail(number, error, ms) {
    const { kind, code } = nameOf(error);
    this.write({ i: number, ok: false, ms, kind, code, err: String(error?.message ?? error) });
  }

  /** Writes one reply or event. */
  write(fields) {
    let line = Buffer.from(`${JSON.stringify(fields)}\n`);
    while (line.length) {
      try {
        line = line.subarray(fs.writeSync(1, line));
      } catch (error) {
        if (error.code !== 'EAGAIN') process.exit(1); // nobody listens any more
      }
    }
  }

  #hello() {
    const verbs = [...Object.keys(this.verbs), 'exit'].sort();
    return { ...this.#about, protocol_version: 1, verbs };
  }
}

/** Class and code of an error, or of the first of its causes that has a code. */
function nameOf(error) {
  if (error instanceof Refusal) return { kind: error.kind, code: null };
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (Number.isInteger(cause.code)) return { kind: cause.constructor.name, code: cause.code };
  }
  return { kind: error?.constructor?.name ?? 'Error', code: null };
}

const since = begin => Math.round((performance.now() - begin) * 1000) / 1000;

/** Keeps everything that prints away from the replies: no JavaScript reaches descriptor 1 but write above. */
function protectStdout() {
  Object.defineProperty(process, 'stdout', { get: () => process.stderr, configurable: true });
}

module.exports = { Command, Driver, Refusal, bad, isObject, protectStdout, unsupported };
