"""The names that users import: `from rocketmq_testkit import Emulator`.

Importing the package loads nothing; a name loads its module when it is first used, because pytest imports the package
in every run of an environment that has it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocketmq_testkit.fixtures import (
        Client,
        ClockTimeout,
        Emulator,
        EmulatorOptions,
        EmulatorWarning,
        Group,
        Message,
        NotFound,
        NotRegistered,
        NotRunning,
        OptionError,
        PortTaken,
        Scheduled,
        Topic,
        WarningKind,
        WarningList,
    )

__all__ = [
    "Client",
    "ClockTimeout",
    "Emulator",
    "EmulatorOptions",
    "EmulatorWarning",
    "Group",
    "Message",
    "NotFound",
    "NotRegistered",
    "NotRunning",
    "OptionError",
    "PortTaken",
    "Scheduled",
    "Topic",
    "WarningKind",
    "WarningList",
]


if not TYPE_CHECKING:  # a checker would take any name for one that is there

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from rocketmq_testkit import fixtures

        return getattr(fixtures, name)


def __dir__() -> list[str]:
    """List public names that are not loaded yet, too."""
    return sorted({*globals(), *__all__})
