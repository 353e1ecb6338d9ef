"""The rule that acted on a request, a response or an effect, as the journal stores it."""

from ..kernel.value_class import value


@value
class FiredRule:
    """The outcome of a journal entry about a fault: the name of the rule that caused it."""

    rule: str
