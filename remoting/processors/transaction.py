"""End transactions.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: EndTransactionProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.send import EndTransaction, ResumeCheckHalfMessage
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import RequestTable, Role
from ..request.required_rights import on_fields, to_end_transaction
from ..wire.ext_fields import Header, Int, Long, header
from ..wire.response_frame import NOT_SET

TABLE = RequestTable(Role.BROKER)

UNKNOWN, COMMIT, ROLLBACK = 0, 8, 12

WRONG_VALUE = (
    "org.apache.rocketmq.remoting.exception.RemotingCommandException: commitOrRollback field wrong, "
    "org.apache.rocketmq.remoting.protocol.header.EndTransactionRequestHeader.checkFields"
    "(EndTransactionRequestHeader.java:69)"
)


@header
class EndTransactionRequestHeader(Header):
    """Request to commit (8) or roll back (12) a half message, or to leave it unknown (0). Unknown gets no response.

    Errors: SYSTEM_ERROR (no such half message, another producer group, any other number), ILLEGAL_OPERATION (immunity
    time is over), SLAVE_NOT_AVAILABLE, MESSAGE_ILLEGAL, SERVICE_NOT_AVAILABLE (the message cannot be stored).
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
    """Request to check a half message again whose checks were exhausted. Errors: SYSTEM_ERROR (no such message)."""

    topic: str | None = None
    msg_id: str | None = None


def _response(call: RemotingCall, result: Done) -> bytes:
    header = call.header
    assert isinstance(header, EndTransactionRequestHeader)
    unset = header.commit_or_rollback == ROLLBACK and result.remark is None
    return call.response(NOT_SET if unset else result.remark)


def _error(call: RemotingCall, error: EngineError) -> bytes:
    return call.response(NOT_SET if error.remark is None else error.remark, code=error.code)


@TABLE.processor(
    RequestCode.END_TRANSACTION,
    header=EndTransactionRequestHeader,
    rights=to_end_transaction,
    pool=BrokerPool.TRANSACTION,
    response=_response,
    error=_error,
)
def end_transaction(call: RemotingCall, header: EndTransactionRequestHeader, body: bytes) -> EndTransaction:
    """Translate the end of a transaction. The physical offset identifies the message; the ids are ignored."""
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


@TABLE.processor(
    RequestCode.RESUME_CHECK_HALF_MESSAGE,
    header=ResumeCheckHalfMessageRequestHeader,
    rights=on_fields(Action.UPDATE, fields="topic"),
)
def resume_check_half_message(
    call: RemotingCall, header: ResumeCheckHalfMessageRequestHeader, body: bytes
) -> ResumeCheckHalfMessage:
    """Translate a request to resume checks. Only the physical offset in the message id identifies the message."""
    return ResumeCheckHalfMessage(header.msg_id)
