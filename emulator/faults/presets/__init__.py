"""Presets: named lists of rules for situations that take several rules. Importing this package fills their table.

It must not know how a kind of fault acts.
"""

from . import situations
from .preset import preset

__all__ = ["preset", "situations"]
