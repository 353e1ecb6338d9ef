"""Direct consumption: a broker makes a consumer's listener process a stored message, over telemetry.

Requests for the running info of a client get no response: 5.3.3 never forwards them, because its proxy finds no header
in the broker's request. Source: GrpcClientChannel, ClientActivity, LocalProxyRelayService (5.3.3).
"""

import orjson
from rocketmq_testkit.emulator.gate.effects import AskToConsume
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.operations import PushAnswered

from ..convert.message_encoder import fill_message
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.proxy import Proxy
from ..proxy.sessions import SessionChannel
from ..proxy.telemetry_requests import RelayResult

_LABEL = "VerifyMessage"
_RESULTS = {
    pb.OK: "CR_SUCCESS",
    pb.FAILED_TO_CONSUME_MESSAGE: "CR_LATER",
    pb.MESSAGE_CORRUPTED: "CR_RETURN_NULL",
}


def ask_to_consume(proxy: Proxy, channel: SessionChannel, effect: AskToConsume) -> None:
    """Send a message to a consumer's newest telemetry stream to be consumed. Without a stream the request times out."""
    broker = proxy.routes.named(effect.ext_fields.get("brokerName", ""))

    def answered(result: RelayResult) -> None:
        proxy.tell(broker, channel, _LABEL, PushAnswered(effect.ticket, result.code, result.remark, None, result.body))

    nonce = proxy.questions.ask(answered, channel.channel_id)
    if not channel.streams:
        return
    record = records.decode(effect.record)
    command = sv.TelemetryCommand()
    verify = command.verify_message_command
    verify.nonce = nonce
    fill_message(verify.message, record, record.topic, record.reconsume_times, proxy.now_ms)
    channel.streams[-1].server_call.send(command.SerializeToString())


def take_result(proxy: Proxy, command: sv.TelemetryCommand) -> None:
    """Handle a consumer's result, which is the status of its command. A result with an unknown nonce is ignored."""
    then = proxy.questions.take(command.verify_message_result.nonce)
    if then is None:
        return
    code = command.status.code
    result = {"autoCommit": True, "order": False, "remark": "from gRPC client", "spentTimeMills": 0}
    if code in _RESULTS:
        result["consumeResult"] = _RESULTS[code]
    then(RelayResult(ResponseCode.SUCCESS, "", orjson.dumps(result, option=orjson.OPT_SORT_KEYS)))
