import assert from "node:assert";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** Return the standard error of a program that starts two emulators with a version of Node. */
const errorsWith = (version) => {
  const program = `Object.defineProperty(process, "version", { value: "${version}" });
const { RocketMQ } = await import("rocketmq-testkit");
for (const _ of [1, 2]) await RocketMQ.start();`;
  const done = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  assert.strictEqual(done.status, 0, done.stderr);
  return done.stderr;
};

test("a Node that is too old is named once", () => {
  const warning = / Warning: rocketmq-testkit: this is Node v20.19.6, which loses .* needs Node (.*) or newer; update Node\n/g;
  const [[, oldest], ...others] = errorsWith("v20.19.6").matchAll(warning);
  assert.deepStrictEqual(others, []);
  const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.strictEqual(engines.node, `>=${oldest}`);
});

test("a Node that is new enough is not named", () => {
  for (const version of ["v20.20.0", "v22.1.0"]) assert.strictEqual(errorsWith(version), "");
});
