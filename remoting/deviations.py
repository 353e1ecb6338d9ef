"""Deliberate differences from the remoting servers of 5.3.3 that no configuration key switches.

`docs/request-codes.md` lists them.
"""

from rocketmq_testkit.emulator.deviation import Deviation

DEVIATIONS = (
    Deviation(
        "length of a header",
        "bounded by the frame alone (16 MiB)",
        "4 MiB, and 1 MiB of JSON that is not ASCII; a longer one closes the connection",
    ),
    Deviation(
        "JSON of a header or body with more than 100,000 opening brackets, colons and commas",
        "read",
        "a header closes the connection, a body is refused with SYSTEM_ERROR; so is a body of more than 4 MiB, or of"
        " more than 1 MiB if it is not ASCII",
    ),
    Deviation("more than 50,000 ext fields in a binary header", "read", "the connection closes"),
    Deviation("configuration body of more than 1 MiB", "read", "refused with SYSTEM_ERROR"),
    Deviation("expression of more than 20,000 tags or 50,000 SQL tokens", "accepted", "refused"),
    Deviation(
        "number beyond 64 bits among the ext fields of a JSON header",
        "text with all its digits",
        "text of a floating-point number",
    ),
    Deviation("null in a set of a body, such as `tagsSet`", "stays, and is listed", "left out"),
    Deviation(
        "unknown name of an enum in a body, such as `consumeType`",
        "null",
        "the default of the field",
    ),
    Deviation(
        "explicit null for `consumerDataSet` or `mqSet`",
        "SYSTEM_ERROR, a NullPointerException",
        "read as an empty set",
    ),
    Deviation(
        "text of a date where a body has a 64-bit number",
        "milliseconds of that date",
        "refused as any other text that is no number",
    ),
    Deviation(
        "`pos` in the remark about a body that fastjson cannot parse",
        "position in the body",
        "0",
    ),
    Deviation(
        "two names that differ only in unpaired surrogates",
        "two names",
        "one name: each unpaired surrogate becomes `?`",
    ),
)
