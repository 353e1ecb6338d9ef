"""Errors that a client can see."""

from .response_code import ResponseCode

FAQ = "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
"""Upstream appends this sentence to several remarks; clients show it (FAQUrl, 5.3.3)."""


class EngineError(Exception):
    """A request was refused: a response code, the remark that clients show, and extra answer fields.

    `details` holds fields that belong to this refusal alone, for example `forbidden_type` of a pull (1 to 5).
    Our own bugs are never raised as EngineError.
    """

    def __init__(self, code: ResponseCode, remark: str | None, **details: int | str) -> None:
        super().__init__(code, remark)
        self.code = code
        self.remark = remark
        self.details = details

    def __str__(self) -> str:
        return f"{self.code.name}: {self.remark}"

    def journaled(self) -> "EngineError":
        """A copy for the journal without the traceback, whose frames hold the body of the request and much more."""
        kept = self.__class__.__new__(self.__class__, *self.args)
        kept.__dict__.update(self.__dict__)
        return kept


class TurnedAway(EngineError):
    """A request was refused before its processor saw it: clients get the code and the remark, and nothing besides."""


class SqlError(ValueError):
    """A SQL92 expression does not compile; the text is what upstream answers to CHECK_CLIENT_CONFIG."""
