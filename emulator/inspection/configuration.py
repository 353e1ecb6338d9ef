"""Effective configuration."""

from ..kernel.value_class import frozen_value


@frozen_value
class KeyView:
    """A configuration key of a node, with the origin of its value."""

    node: str
    key: str
    value: str
    origin: str
    """`default`, `profile`, `option` or `changed` (while the emulator ran)."""
