"""The scope of a rule: the classes of operations or effects and the protocols on which it can act."""

from collections.abc import Sequence

from ..gate.effects import Effect
from ..kernel.value_class import frozen_value
from .criteria import OF_MESSAGES, names_of
from .errors import FaultError, shown
from .message_facts import holders
from .phase import Phase
from .rule import RuleSpec
from .rule_index import Key
from .vocabulary import Vocabulary, no_status

_OF_REQUESTS = (Phase.REQUEST, Phase.RESPONSE)


@frozen_value
class RuleScope:
    """The scope of one rule. `keys`: its keys in `RuleIndex`. `protocols`, `operations`: as in `RunningRule`."""

    keys: tuple[Key, ...]
    protocols: frozenset[str]
    operations: frozenset[str]


class Scopes:
    """Finds the scopes of rules. Rules with the same fault and the same operations share one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._found: dict[object, RuleScope] = {}

    def of(self, spec: RuleSpec) -> RuleScope:
        """Return the scope of a rule. Raises FaultError if the rule can never match."""
        names, phase = tuple(names_of(spec.criteria.operation)), spec.phase
        key = spec.fault, phase.value, names, spec.criteria.protocol, spec.strict
        found = self._found.get(key)
        if found is None:
            keys, protocols = self._keys(spec, phase, names), self._protocols(spec, names)
            found = self._found[key] = RuleScope(keys, protocols, frozenset(names))
        for language in names_of(spec.criteria.language):
            self._vocabulary.check_language(language)
        if spec.criteria.concerns_messages():
            _check_messages(spec, phase, found.keys)
        return found

    def _keys(self, spec: RuleSpec, phase: Phase, names: Sequence[str]) -> tuple[Key, ...]:
        """Return the keys under which a rule is indexed. Raises FaultError."""
        kind, operations = spec.fault.KIND, spec.fault.usable_operations()
        if not names:
            return (None,) if operations is None else tuple(operations)
        found: dict[Key, None] = {}
        for name in names:
            for each in self._vocabulary.classes(name, responses=phase is Phase.RESPONSE):
                if issubclass(each, Effect) != (phase is Phase.PUSH):
                    wrong = "is a push" if issubclass(each, Effect) else "is no push"
                    raise FaultError(f"operation={name!r}: {wrong}, and {kind.name} acts in the phase {phase.value!r}")
                if operations is None or each in operations:
                    found[each] = None
        if not found:
            allowed = ", ".join(each.__name__ for each in operations or ())
            raise FaultError(
                f"operation={shown(spec.criteria.operation)}: {kind.name} acts on {allowed} only; use one of them"
            )
        if operations is None and phase in _OF_REQUESTS and spec.criteria.protocol != "remoting":
            found |= dict.fromkeys(self._vocabulary.rpcs_of(names))
        return tuple(found)

    def _protocols(self, spec: RuleSpec, names: Sequence[str]) -> frozenset[str]:
        """Return the protocols whose requests the rule acts on. Raises FaultError if there is none."""
        protocol = spec.criteria.protocol
        if spec.strict:
            usable = frozenset(spec.fault.usable_protocols(self._vocabulary.requests_of(names, protocol)))
        else:  # strict=False: the request need not be able to get the code, but the code must exist
            spec.fault.check_codes(self._vocabulary.codes)
            usable = frozenset(spec.fault.possible_protocols())
            if protocol is not None and protocol not in usable:
                raise no_status(getattr(spec.fault, "status", None))
        if names and spec.phase in _OF_REQUESTS:
            possible = usable if protocol is None else usable & {protocol}
            self._vocabulary.check_sent(names, possible, responses=spec.phase is Phase.RESPONSE)
        return usable


def _check_messages(spec: RuleSpec, phase: Phase, keys: Sequence[Key]) -> None:
    """Raise FaultError for criteria about messages if no operation of the rule holds a message in its phase."""
    holding = holders(phase)
    if None in keys or not holding or any(key in holding for key in keys):
        return
    name, value = next(each for each in spec.criteria.given() if each[0] in OF_MESSAGES)
    named = ", ".join(sorted(key.__name__ for key in keys if isinstance(key, type)))
    verb = "hold" if "," in named else "holds"
    elsewhere = [
        each.value for each in (Phase.REQUEST, Phase.RESPONSE) if each is not phase and set(keys) & set(holders(each))
    ]
    if elsewhere and elsewhere[0] in {each.value for each in spec.fault.KIND.phases}:
        remedy = f"add phase={elsewhere[0]!r}"
    elif elsewhere:
        remedy = f"use a fault that acts in the phase {elsewhere[0]!r}"
    else:
        usable = spec.fault.usable_operations()
        known = ", ".join(sorted(each.__name__ for each in holding if usable is None or each in usable))
        remedy = f"in this phase {known} hold one; choose one of them" if known else "choose another fault"
    raise FaultError(
        f"{name}={shown(value)}: {named} {verb} no message in the phase {phase.value!r}; {remedy}, or remove {name}"
    )
