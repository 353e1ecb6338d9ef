/** The oldest Node that runs all hooks of a test in their order, and that reports the errors of hooks. */
const OLDEST = "20.20";
let isChecked = false;

/** Warn once if this Node is older than the package needs. */
export function warnAboutOldNode() {
  if (isChecked) return;
  isChecked = true;
  const [major, minor] = process.version.slice(1).split(".").map(Number);
  const [leastMajor, leastMinor] = OLDEST.split(".").map(Number);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  process.emitWarning(
    `rocketmq-testkit: this is Node ${process.version}, which loses errors of hooks: a test may pass although it lost its ` +
      `emulator; the package needs Node ${OLDEST} or newer; update Node`,
  );
}
