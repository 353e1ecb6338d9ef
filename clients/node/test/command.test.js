import assert from "node:assert";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { findCommand, startCommand } from "../src/command.js";

/** Return a folder that exists during a test. */
function folderOf(t) {
  const folder = mkdtempSync(join(tmpdir(), "command-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function program(folder, name, script) {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** Set variables of the environment during a test. */
function setEnvironment(t, variables) {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  t.after(() => Object.assign(process.env, before));
}

test("the command is found by path, then variable, then PATH, then Python", (t) => {
  const folder = folderOf(t);
  const other = program(folder, "other", "exit 1");
  program(folder, "python3", "exit 0");
  setEnvironment(t, { PATH: folder, ROCKETMQ_EMULATOR: "" });
  assert.deepStrictEqual(findCommand(), ["python3", "-m", "rocketmq_testkit.fixtures.command"]);
  const inPath = program(folder, "rocketmq-emulator", "exit 1");
  assert.deepStrictEqual(findCommand(), [inPath]);
  process.env.ROCKETMQ_EMULATOR = other;
  assert.deepStrictEqual(findCommand(), [other]);
  assert.deepStrictEqual(findCommand(inPath), [inPath]);
});

test("a wrong command is named by the option or the variable", (t) => {
  const missing = "/nowhere/emulator: there is no such file; name the file rocketmq-emulator";
  assert.throws(() => findCommand("/nowhere/emulator"), { message: `command=${missing}` });
  setEnvironment(t, { ROCKETMQ_EMULATOR: "/nowhere/emulator" });
  assert.throws(() => findCommand(), { message: `ROCKETMQ_EMULATOR=${missing}` });
  const folder = folderOf(t);
  assert.throws(() => findCommand(folder), { message: `command=${folder}: there is no such file; name the file rocketmq-emulator` });
});

test("a file that is not executable is refused, and skipped in PATH", (t) => {
  const folder = folderOf(t);
  const path = join(folder, "rocketmq-emulator");
  writeFileSync(path, "#!/bin/sh\n", { mode: 0o644 });
  const message = `command=${path}: the file is not executable; name the file rocketmq-emulator`;
  assert.throws(() => findCommand(path), { message });
  program(folder, "python3", "exit 1");
  setEnvironment(t, { PATH: folder, ROCKETMQ_EMULATOR: "" });
  assert.throws(() => findCommand(), /^Error: rocketmq-emulator: there is no such command; /);
});

test("one sentence says that there is no command", (t) => {
  const folder = folderOf(t);
  program(folder, "python3", "exit 1");
  setEnvironment(t, { PATH: folder, ROCKETMQ_EMULATOR: "" });
  assert.throws(() => findCommand(), /^Error: rocketmq-emulator: there is no such command; .* set ROCKETMQ_EMULATOR /);
});

/** Check that a command ends, with an error if there is one, although a process that it has started runs on. */
async function checkEnd(t, script, error) {
  const command = program(folderOf(t), "emulator", `sleep 20 &\n${script}`);
  const began = performance.now();
  const end = async () => (await startCommand({ command, readyMs: 500, stopMs: 500 })).stop();
  await (error ? assert.rejects(end, error) : end());
  assert.ok(performance.now() - began < 15_000);
}

test("a command that is stopped does not wait for its child", (t) => checkEnd(t, "echo '{}'; cat > /dev/null"));

test("a command that is killed does not wait for its child", (t) =>
  checkEnd(t, "echo '{}'; exec sleep 20", /^Error: rocketmq-emulator: has not stopped within 0.5 s, and was killed; /));

test("a command that prints another line is killed", (t) =>
  checkEnd(t, "echo no JSON; exec sleep 20", /^Error: .*: has not become ready \(Unexpected token .*\): $/));

test("a command that prints no line in time is killed", (t) =>
  checkEnd(t, "trap '' TERM; sleep 20 & wait", /^Error: .*: has not become ready \(no line within 0.5 s\): $/));
