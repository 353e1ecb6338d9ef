"""Public names for users: `from rocketmq_testkit import Emulator`.

Importing the package loads no other module. Each name loads its module at its first use, because pytest imports the
package in every run of an environment that has it installed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocketmq_testkit.fixtures import (
        AmbiguousMessage,
        Client,
        ClockTimeout,
        Emulator,
        EmulatorHeld,
        EmulatorOptions,
        EmulatorReset,
        EmulatorWarning,
        EngineError,
        Explanation,
        FaultError,
        Group,
        HoldLost,
        Message,
        MessageHistory,
        NoSuchRule,
        NotFound,
        NotRegistered,
        NotRunning,
        OptionError,
        PortTaken,
        Reason,
        Scheduled,
        Snapshot,
        TooManyForks,
        TooManyWaiting,
        Topic,
        UnreadableFile,
        WarningKind,
        WarningList,
        json,
    )

__all__ = [
    "AmbiguousMessage",
    "Client",
    "ClockTimeout",
    "Emulator",
    "EmulatorHeld",
    "EmulatorOptions",
    "EmulatorReset",
    "EmulatorWarning",
    "EngineError",
    "Explanation",
    "FaultError",
    "Group",
    "HoldLost",
    "Message",
    "MessageHistory",
    "NoSuchRule",
    "NotFound",
    "NotRegistered",
    "NotRunning",
    "OptionError",
    "PortTaken",
    "Reason",
    "Scheduled",
    "Snapshot",
    "TooManyForks",
    "TooManyWaiting",
    "Topic",
    "UnreadableFile",
    "WarningKind",
    "WarningList",
    "json",
]


if not TYPE_CHECKING:  # with __getattr__ in sight, a type checker would accept misspelled names

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from rocketmq_testkit import fixtures

        return getattr(fixtures, name)


def __dir__() -> list[str]:
    """List all names, including public ones that are not loaded yet."""
    return sorted({*globals(), *__all__})
