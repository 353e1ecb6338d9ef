"""Pulls of tests, as operations of the engine."""

from rocketmq_testkit.emulator.operations.consume import (
    FLAG_COMMIT_OFFSET,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PullMessage,
)


def pull_of(  # noqa: PLR0913 - the fields of a pull
    group: str,
    topic: str,
    *,
    queue: int = 0,
    offset: int = 0,
    count: int = 32,
    commit: int | None = None,
    suspend_ms: int | None = None,
    version: int = 0,
    expression: str | None = "*",
    kind: str = "TAG",
) -> PullMessage:
    """Return a pull of up to `count` messages of a queue, whose `sys_flag` has the bits of the given arguments.

    `commit` is the offset that it commits. With `suspend_ms` it may wait so long for messages. `version` is that of the
    consumer's subscription. Without an `expression` (None) the filter is that of the group's heartbeats.
    """
    flags = 0
    if commit is not None:
        flags |= FLAG_COMMIT_OFFSET
    if suspend_ms is not None:
        flags |= FLAG_SUSPEND
    if expression is not None:
        flags |= FLAG_SUBSCRIPTION
    return PullMessage(
        group,
        topic,
        queue,
        offset,
        count,
        flags,
        commit_offset=commit or 0,
        suspend_timeout_ms=suspend_ms or 0,
        sub_version=version,
        subscription=expression,
        expression_type=None if expression is None else kind,
    )
