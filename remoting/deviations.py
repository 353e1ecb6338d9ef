"""Deliberate differences from the remoting servers of 5.3.3 that no configuration key controls.

Each has three parts: where a client sees it, the behavior of 5.3.3, and the behavior of the emulator.
`docs/request-codes.md` lists them.
"""

from rocketmq_testkit.emulator.deviation import Deviation

DEVIATIONS = (
    Deviation(
        "length of a frame header",
        "limited only by the frame (16 MiB)",
        "limited to 4 MiB, or 1 MiB of JSON that is not ASCII; a longer one closes the connection",
    ),
    Deviation(
        "JSON of a header or body with more than 100,000 opening brackets, colons and commas together",
        "read",
        "a header closes the connection, a body is rejected with SYSTEM_ERROR; a body of more than 4 MiB, or more"
        " than 1 MiB if it is not ASCII, is rejected as well",
    ),
    Deviation("more than 50,000 ext fields in a binary header", "read", "the connection is closed"),
    Deviation("configuration body of more than 1 MiB", "read", "rejected with SYSTEM_ERROR"),
    Deviation(
        "expression of more than 20,000 tags or 50,000 SQL tokens", "accepted", "handled like an invalid expression"
    ),
    Deviation(
        "number beyond 64 bits among the ext fields of a JSON header",
        "text with all its digits",
        "text of a floating-point number",
    ),
    Deviation(
        "members of a consumer group that join or leave at the same time",
        "every member is notified of each change",
        "changes that arrive in one turn of the event loop cause one notification, sent after the last of these"
        " changes",
    ),
    Deviation(
        "messages of a slave that was empty when it connected to a master with more than one commit log file",
        "those of the last file, which has 1 GiB by default",
        "all that the master has left; a file has 16 MiB by default",
    ),
    Deviation("null in a set of a body, such as `tagsSet`", "kept and listed", "left out"),
    Deviation(
        "unknown name of an enum in a body, such as `consumeType`",
        "null",
        "replaced by the default of the field",
    ),
    Deviation(
        "explicit null for `consumerDataSet` or `mqSet`",
        "SYSTEM_ERROR, a NullPointerException",
        "read as an empty set",
    ),
    Deviation(
        "text of a date where a body has a 64-bit number",
        "milliseconds of that date",
        "rejected like any other text that is not a number",
    ),
    Deviation(
        "`pos` in the remark about a body that fastjson cannot parse",
        "position in the body",
        "0",
    ),
    Deviation(
        "two names that differ only in unpaired surrogates",
        "two names",
        "one name; each unpaired surrogate becomes `?`",
    ),
)
