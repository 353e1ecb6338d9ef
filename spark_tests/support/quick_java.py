"""Java options for processes that end after a few messages."""

QUICK_JAVA = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""Environment in which Java compiles quickly instead of well, because the process ends before better code would pay."""
