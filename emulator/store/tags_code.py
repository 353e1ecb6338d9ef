"""The tags code: the hash of a message's tag, by which consume queues filter.

Source: MessageExtBrokerInner.tagsString2tagsCode (5.3.3).
"""

from functools import lru_cache

from ..message import properties as props

SHORT_TAG = 128
"""The maximum length of a tag whose code is remembered."""
code_of_short_tag = lru_cache(maxsize=65536)(props.string_hash)
"""The code of a tag of at most SHORT_TAG characters. Clients use few tags."""


def tags_code_of(tag: str) -> int:
    """Return the code of a tag."""
    return code_of_short_tag(tag) if len(tag) <= SHORT_TAG else props.string_hash(tag)
