"""Reports of the emulator's bugs, written to a file, so that a test run can fail because of them.

If serving a request raises an unexpected exception, the emulator logs it, replies and continues; a test that checks
only the reply does not notice. If the environment names a file, the text of each such log entry is appended to it, by
every process that inherits the environment.
"""

import os

REPORTS_FILE = "ROCKETMQ_TESTKIT_BUG_REPORTS"
"""The environment variable that holds the path of the file. If it is unset, nothing is written."""
END = "\f\n"
"""Ends each report."""


def note(report: str) -> None:
    """Append a report (the text of the log entry) to the reports file, if one is configured."""
    path = os.environ.get(REPORTS_FILE)
    if path:
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(report.rstrip() + "\n" + END)
