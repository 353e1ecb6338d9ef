"""Note the bugs of our own that a request survived, so that a test run can fail for them.

Whoever catches an exception that nobody expected logs it, answers and goes on; a test that looks only at the answer
does not notice. If the environment names a file, each such report is appended to it, from every process that inherits
the environment.
"""

import os

REPORTS_FILE = "ROCKETMQ_TESTKIT_BUG_REPORTS"
"""The environment variable with the path of the file. Without it nothing is written."""
END = "\f\n"
"""Stands behind each report."""


def note(report: str) -> None:
    """Append a report, which is the text of the log, to the file of reports if there is one."""
    path = os.environ.get(REPORTS_FILE)
    if path:
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(report.rstrip() + "\n" + END)
