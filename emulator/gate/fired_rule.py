"""The rule that acted on a request, a response or an effect, as the journal stores it."""

from ..kernel.value_class import value


@value
class FiredRule:
    """The name of the rule."""

    rule: str
