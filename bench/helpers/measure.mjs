/** Measures the steps of tests with the Node helper. Prints a line for each. */
import { readdirSync, readFileSync } from "node:fs";
import { env, hrtime, pid } from "node:process";
import { pathToFileURL } from "node:url";

const { RocketMQ } = await import(pathToFileURL(env.HELPER));
const TESTS = 4;

const shared = await step("process, start", () => RocketMQ.start({ own: true, topics: ["orders"] }));
for (let test = 1; test <= TESTS; test++) {
  const which = test === 1 ? "first test" : "later test";
  const fork = await step(`${which}, fork`, () => shared.fork());
  await step(`${which}, message sent and read`, async () => {
    await fork.send("orders", "two teas");
    await fork.texts("orders");
  });
  await step(`${which}, end of the fork`, () => fork.stop());
}
for (let test = 1; test <= TESTS; test++) await step("reset instead of a fork", () => shared.reset());
await shared.stop();

async function step(name, call) {
  const before = processor();
  const begin = hrtime.bigint();
  const found = await call();
  const ms = Number(hrtime.bigint() - begin) / 1e6;
  console.log(JSON.stringify({ step: name, ms, cpu_ms: (processor() - before) / 1e6 }));
  return found;
}

/** Return the processor time of this process and of its descendants in nanoseconds. */
function processor(process = pid) {
  let sum = 0;
  for (const thread of listed(`/proc/${process}/task`)) {
    sum += Number(text(`/proc/${process}/task/${thread}/schedstat`).split(" ")[0]);
    for (const child of text(`/proc/${process}/task/${thread}/children`).split(" ")) {
      if (child.trim()) sum += processor(child);
    }
  }
  return sum;
}

function listed(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the process has ended
  }
}

function text(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // the thread has ended
  }
}
