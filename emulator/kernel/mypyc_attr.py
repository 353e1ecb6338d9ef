"""The marker of classes for mypyc, which compiles some modules of the engine. It has no effect at run time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr  # mypyc knows the decorator by its name there
else:

    def mypyc_attr(**_attributes):
        """Mark a class: with `allow_interpreted_subclasses=True` an object can be made without `__init__`.

        Copies of an instant (`instant_copy.py`) are made so.
        """
        return lambda kind: kind
