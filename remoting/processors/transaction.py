"""Ends of transactions. Source: EndTransactionProcessor (5.3.3)."""

# ruff: noqa: ARG001  # every processor and every answer has the same arguments, whether it needs them or not

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.send import EndTransaction, ResumeCheckHalfMessage

from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import RequestTable, Role
from ..wire.answer_frame import NOT_SET
from ..wire.ext_fields import Header, Int, Long, header

TABLE = RequestTable(Role.BROKER)

UNKNOWN, COMMIT, ROLLBACK = 0, 8, 12

WRONG_VALUE = (
    "org.apache.rocketmq.remoting.exception.RemotingCommandException: commitOrRollback field wrong, "
    "org.apache.rocketmq.remoting.protocol.header.EndTransactionRequestHeader.checkFields"
    "(EndTransactionRequestHeader.java:69)"
)


@header
class EndTransactionRequestHeader(Header):
    """Commit (8), roll back (12) or leave unknown (0) a half message; unknown is never answered.

    Errors: SYSTEM_ERROR (no such half message, another group, another value), ILLEGAL_OPERATION (immunity is over).
    """

    topic: str | None = None
    producer_group: str = ""
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: Int
    from_transaction_check: bool = False
    msg_id: str = ""
    transaction_id: str | None = None


@header
class ResumeCheckHalfMessageRequestHeader(Header):
    """Have a half message checked again that was given up. Errors: SYSTEM_ERROR (no message there)."""

    topic: str | None = None
    msg_id: str | None = None


def _answer(call: RemotingCall, result: Done) -> bytes:
    header = call.header
    assert isinstance(header, EndTransactionRequestHeader)
    unset = header.commit_or_rollback == ROLLBACK and result.remark is None
    return call.answer(NOT_SET if unset else result.remark)


def _refusal(call: RemotingCall, error: EngineError) -> bytes:
    return call.answer(NOT_SET if error.remark is None else error.remark, code=error.code)


@TABLE.processor(RequestCode.END_TRANSACTION, header=EndTransactionRequestHeader, answer=_answer, refuse=_refusal)
def end_transaction(call: RemotingCall, header: EndTransactionRequestHeader, body: bytes) -> EndTransaction:
    """The message is found by its physical offset; the ids are not looked at."""
    if header.commit_or_rollback not in (UNKNOWN, COMMIT, ROLLBACK):
        raise EngineError(ResponseCode.SYSTEM_ERROR, WRONG_VALUE)
    return EndTransaction(
        producer_group=header.producer_group,
        tran_state_table_offset=header.tran_state_table_offset,
        commit_log_offset=header.commit_log_offset,
        commit_or_rollback=header.commit_or_rollback,
        from_transaction_check=header.from_transaction_check,
        msg_id=header.msg_id,
        transaction_id=header.transaction_id,
        topic=header.topic,
    )


@TABLE.processor(RequestCode.RESUME_CHECK_HALF_MESSAGE, header=ResumeCheckHalfMessageRequestHeader)
def resume_check_half_message(
    call: RemotingCall, header: ResumeCheckHalfMessageRequestHeader, body: bytes
) -> ResumeCheckHalfMessage:
    """Found by its place in the log alone."""
    return ResumeCheckHalfMessage(header.msg_id)
