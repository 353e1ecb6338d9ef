"""Replay: sends recorded messages, or a range of a topic, again, and the command for it.

It must not know the auditor. The function is loaded on demand, because the command shows its help without Spark.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .resend import replay

__all__ = ["replay"]


def __getattr__(name: str) -> Any:
    if name == "replay":
        from .resend import replay

        return replay
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
