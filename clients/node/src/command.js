import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

const READY_MS = 60_000;
const STOP_MS = 10_000;
const KEPT_ERRORS = 16_384;
const ARGUMENTS = ["--exit-with-parent", "--profile", "fast"].concat(
  ["--namesrv-port", "--broker-port", "--grpc-port", "--control-port"].flatMap((option) => [option, "0"]),
);

/** Return the words that start the command: from the option, the environment, PATH, or Python's module. */
export function findCommand(path) {
  if (path) return program("command", path);
  const { ROCKETMQ_EMULATOR: variable, PATH: folders = "" } = process.env;
  if (variable) return program("ROCKETMQ_EMULATOR", variable);
  for (const folder of folders.split(delimiter)) {
    const found = join(folder, "rocketmq-emulator");
    if (folder && !problemOf(found)) return [found];
  }
  for (const python of ["python3", "python"]) {
    if (spawnSync(python, ["-c", "import rocketmq_testkit"]).status === 0) {
      return [python, "-m", "rocketmq_testkit.fixtures.command"];
    }
  }
  throw new Error(
    "rocketmq-emulator: there is no such command; it is looked for in $ROCKETMQ_EMULATOR, in PATH, and as a package " +
      "of python3; set ROCKETMQ_EMULATOR to its path, or ROCKETMQ_CONTROL_URL to the control port of a running emulator",
  );
}

function program(origin, path) {
  const problem = problemOf(path);
  if (problem) throw new Error(`${origin}=${path}: ${problem}; name the file rocketmq-emulator`);
  return [path];
}

/** Return why a path is not that of a program; nothing if it is. */
function problemOf(path) {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return "there is no such file";
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return "the file is not executable";
  }
}

/**
 * Start the command on free ports. Resolves to the addresses of its ready line, its process, and a function that stops it,
 * and that kills it after `stopMs`. A process that the command has started, such as that of a script, is not waited for.
 */
export async function startCommand({ command, args = [], readyMs = READY_MS, stopMs = STOP_MS } = {}) {
  const words = [...findCommand(command), ...ARGUMENTS, ...args];
  // The command stops when this pipe closes, which happens when this process ends, in any way.
  const child = spawn(words[0], words.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors = (errors + text).slice(-KEPT_ERRORS);
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let ready;
  try {
    ready = JSON.parse(await firstLine(child, readyMs));
  } catch (cause) {
    child.kill("SIGKILL");
    throw new Error(`${words.join(" ")}: has not become ready (${cause.message}): ${errors.trim()}`, { cause });
  } finally {
    // A command does not keep Node from ending.
    for (const each of [child, child.stdin, child.stdout, child.stderr]) each.unref();
  }
  const stop = async () => {
    child.ref();
    child.stdin.end();
    let isKilled = false;
    const timer = setTimeout(() => {
      isKilled = child.kill("SIGKILL");
    }, stopMs);
    await ended;
    clearTimeout(timer);
    if (isKilled) {
      throw new Error(
        `rocketmq-emulator: has not stopped within ${stopMs / 1000} s, and was killed; check that its process is not paused`,
      );
    }
  };
  return { ready, child, stop };
}

/** Resolve to the first line of the standard output. Later output is discarded. */
function firstLine(child, limitMs) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no line within ${limitMs / 1000} s`)), limitMs);
    const settle = (how) => (value) => {
      clearTimeout(timer);
      how(value);
    };
    let output = "";
    const read = (text) => {
      output += text;
      if (!output.includes("\n")) return;
      child.stdout.off("data", read).resume();
      settle(resolve)(output.split("\n", 1)[0]);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.once("error", settle(reject));
    // Its standard error is complete then.
    child.once("close", (code) => settle(reject)(new Error(`it ended with code ${code}`)));
  });
}
