"""Errors that a client can see."""

from .response_code import ResponseCode

FAQ = "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
"""Upstream appends this sentence to several remarks; clients show it (FAQUrl, 5.3.3)."""


class EngineError(Exception):
    """A refused request: a response code, the remark that clients show, and extra response fields.

    `details` holds fields that only this refusal has, for example `forbidden_type` of a pull (1 to 5).
    A bug of the emulator is never raised as EngineError.
    """

    def __init__(self, code: ResponseCode, remark: str | None, **details: int | str) -> None:
        super().__init__(code, remark)
        self.code = code
        self.remark = remark
        self.details = details

    def __str__(self) -> str:
        return f"{self.code.name}: {self.remark}"

    def journaled(self) -> "EngineError":
        """Return a copy for the journal, without the traceback, whose frames hold the body of the request."""
        kept = self.__class__.__new__(self.__class__, *self.args)
        kept.__dict__.update(self.__dict__)
        return kept


class RejectedBeforeProcessing(EngineError):
    """A request was refused before its processor ran: clients get only the code and the remark."""


class SqlError(ValueError):
    """A SQL92 expression does not compile. The text is the remark of upstream's CHECK_CLIENT_CONFIG response."""
