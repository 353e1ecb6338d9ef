'use strict';
// The verbs that measure: send_many and drain. A thread is a chain of calls here, each made when the last is answered.

const { bad } = require('./line');

/** Sends `count` messages; send gets the body and the keys (or undefined) of one. */
async function sendMany(command, send) {
  const count = positive(command);
  const stem = command.has('body') ? command.bytes('body') : null;
  const size = command.number('size', 1024);
  const prefix = command.text('keys_prefix', null);
  const times = [];
  const errors = [];
  let next = 0;
  const seconds = await together(command, async () => {
    while (next < count) {
      const n = next++;
      const end = Buffer.from(`-${n}`);
      const start = stem ?? Buffer.alloc(Math.max(size - end.length, 0), 'x');
      const begin = performance.now();
      try {
        await send(Buffer.concat([start, end]), prefix === null ? undefined : [`${prefix}${n}`]);
      } catch (error) {
        errors.push(error);
      }
      times.push(performance.now() - begin);
    }
  });
  times.sort((a, b) => a - b);
  return {
    count,
    errors: errors.length,
    first_error: errors.length ? String(errors[0]) : null,
    per_second: count / seconds,
    p50_ms: times[Math.floor(count / 2)],
    p99_ms: times[Math.min(count - 1, Math.floor((count * 99) / 100))],
  };
}

/** Receives and acknowledges until `count` are done or one receive finds nothing; take does both once. */
async function drain(command, take) {
  const count = positive(command);
  const errors = [];
  let done = 0;
  const seconds = await together(command, async () => {
    while (done < count) {
      try {
        const { got, failed } = await take();
        errors.push(...failed);
        done += got - failed.length;
        if (!got) return;
      } catch (error) {
        errors.push(error);
        return;
      }
    }
  });
  const first_error = errors.length ? String(errors[0]) : null;
  return { count: done, errors: errors.length, first_error, per_second: done / seconds };
}

function positive(command) {
  const count = command.number('count');
  if (count < 1) throw bad('count must be positive');
  return count;
}

async function together(command, work) {
  const begin = performance.now();
  await Promise.all(Array.from({ length: Math.max(1, command.number('threads', 1)) }, work));
  return (performance.now() - begin) / 1000;
}

module.exports = { drain, sendMany };
