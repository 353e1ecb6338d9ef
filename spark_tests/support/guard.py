"""A gateway to an emulator that checks credentials, like a broker with ACL; the emulator has no users."""

import hmac
from base64 import b64encode
from collections.abc import Mapping

from gateway import Gateway, forward
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.wire.command import RemotingCommand


class Guard(Gateway):
    """Its broker checks every signature; its name server, like a real one, checks none.

    `users`: secret key by access key.
    """

    def __init__(self, emulator: Emulator, users: Mapping[str, str]) -> None:
        super().__init__(emulator)
        self._users = users
        self.refused: list[str] = []
        """Reasons of rejected requests, in order."""

    def response(self, behind: RemotingClient, request: RemotingCommand) -> RemotingCommand:
        """Return the broker's response, or an error."""
        why = self._refusal(request)
        if why is None:
            return forward(behind, request)
        self.refused.append(why)
        return RemotingCommand(ResponseCode.NO_PERMISSION, remark=why)

    def _refusal(self, request: RemotingCommand) -> str | None:
        """Return an error in upstream's words (DefaultAuthenticationHandler, 5.3.3), or None for a valid request."""
        fields = request.ext_fields or {}
        user = fields.get("AccessKey")
        if not user:
            return "username cannot be null."
        if user not in self._users:
            return f"User:{user} is not found."
        text = "".join(value for name, value in sorted(fields.items()) if name != "Signature").encode()
        right = b64encode(hmac.digest(self._users[user].encode(), text + request.body, "sha1")).decode()
        return None if fields.get("Signature") == right else "check signature failed."
