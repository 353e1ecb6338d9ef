"""Direct consumption: a broker makes a consumer's listener process a stored message, over telemetry.

Requests for the running info of a client get no response: 5.3.3 never forwards them, because its proxy finds no header
in the broker's request. Source: GrpcClientChannel, ClientActivity, LocalProxyRelayService (5.3.3).
"""

from dataclasses import dataclass

import orjson
from rocketmq_testkit.emulator.gate.effects import RequestDirectConsumption
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.operations.send import ClientResponded

from ..convert.message_encoder import fill_message
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proxy.fire_and_forget import FireAndForget
from ..proxy.routes import Routes
from ..proxy.sessions import SessionChannel
from ..proxy.telemetry_requests import PendingRequests, RelayResult

_LABEL = "VerifyMessage"
_RESULTS = {
    pb.OK: "CR_SUCCESS",
    pb.FAILED_TO_CONSUME_MESSAGE: "CR_LATER",
    pb.MESSAGE_CORRUPTED: "CR_RETURN_NULL",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DirectConsumption:
    """Sends messages to consumers for direct consumption, and returns the results to the brokers."""

    routes: Routes
    pending_requests: PendingRequests
    fire_and_forget: FireAndForget
    scheduler: Scheduler

    def send_verify_message(self, channel: SessionChannel, effect: RequestDirectConsumption) -> None:
        """Send a message to a consumer on its newest telemetry stream. The consumer processes it and sends the result.

        Without a stream the broker gets the response of a timeout, SYSTEM_BUSY.
        """
        broker = self.routes.master_named(effect.ext_fields.get("brokerName", ""))

        def on_response(result: RelayResult) -> None:
            operation = ClientResponded(effect.ticket, result.code, result.remark, body=result.body)
            self.fire_and_forget.submit(broker, channel, _LABEL, operation)

        nonce = self.pending_requests.register(on_response, channel.channel_id)
        if not channel.streams:
            return
        record = records.decode(effect.record)
        command = sv.TelemetryCommand()
        verify = command.verify_message_command
        verify.nonce = nonce
        fill_message(verify.message, record, record.topic, record.reconsume_times, self.scheduler.now_ms)
        channel.streams[-1].send(command.SerializeToString())

    def handle_result(self, command: sv.TelemetryCommand) -> None:
        """Handle a consumer's result, which is the status of its command. A result with an unknown nonce is ignored."""
        callback = self.pending_requests.pop_callback(command.verify_message_result.nonce)
        if callback is None:
            return
        code = command.status.code
        result = {"autoCommit": True, "order": False, "remark": "from gRPC client", "spentTimeMills": 0}
        if code in _RESULTS:
            result["consumeResult"] = _RESULTS[code]
        callback(RelayResult(ResponseCode.SUCCESS, "", orjson.dumps(result, option=orjson.OPT_SORT_KEYS)))
