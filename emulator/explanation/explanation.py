"""Explanations of messages, groups and clients, as data. All times are engine time in ms."""

from dataclasses import KW_ONLY

from ..inspection.places import Place
from ..kernel.value_class import frozen_view
from .facts import Change, Fact
from .reason import Reason


@frozen_view
class Explanation:
    """The state of a message for one group, or in the store, and the reason for it.

    `str()` is the sentence, `repr()` adds facts and changes.
    """

    reason: Reason
    sentence: str
    message_id: str
    topic: str
    _: KW_ONLY
    group: str | None
    place: Place | None
    """The place of the copy that the verdict is about; None if there is no such copy."""
    until_ms: int | None
    """The time at which the verdict changes without a request; None if there is none."""
    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]
    history_since_ms: int | None
    """The time of the oldest record if older ones were dropped, else None."""
    groups: tuple["Explanation", ...] = ()
    """Explanations for each group, if the call named no group."""
    at_ms: int = 0
    """The time of the verdict."""

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        from .blocks import block

        text = block(f"Explanation {self.reason.name}", self.sentence, self.facts, self.changes, now_ms=self.at_ms)
        return "\n".join([text, *map(repr, self.groups)])

    def as_json(self) -> dict[str, object]:
        """Return the explanation in JSON types, as `GET /v1/explain/{message}` does.

        The verdict holds until `until_ms`, unless a request changes it before; None if no such time is known.
        """
        from .json_forms import changes_form, facts_form, place_form

        return {
            "reason": self.reason.name,
            "sentence": self.sentence,
            "message": {"id": self.message_id, "topic": self.topic, "place": place_form(self.place)},
            "group": self.group,
            "until_ms": self.until_ms,
            "facts": facts_form(self.facts),
            "changes": changes_form(self.changes),
            "history_since_ms": self.history_since_ms,
            "groups": [each.as_json() for each in self.groups],
            "at_ms": self.at_ms,
        }


@frozen_view
class IdleExplanation:
    """Why a consumer or a group is idle."""

    subject: str
    """`group billing` or `client c1`."""
    sentence: str
    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        from .blocks import block

        return block(f"IdleExplanation of {self.subject}", self.sentence, self.facts, self.changes)

    def as_json(self) -> dict[str, object]:
        """Return the explanation in JSON types, as `GET /v1/groups/{group}/explain` does."""
        from .json_forms import changes_form, facts_form

        return {
            "subject": self.subject,
            "sentence": self.sentence,
            "facts": facts_form(self.facts),
            "changes": changes_form(self.changes),
        }
