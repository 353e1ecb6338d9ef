"""Java properties text, the body of configuration requests. Source: MixAll.string2Properties (5.3.3)."""

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode

BYTES_MAX = 1024 * 1024
"""Maximum size of the text, in bytes. Upstream limits only the frame."""


def read_properties(body: bytes) -> dict[str, str]:
    """Parse keys and values. As in Java, a line without a separator is a key with an empty value.

    Raises SYSTEM_ERROR for a text of more than BYTES_MAX.
    """
    if len(body) > BYTES_MAX:
        remark = f"the request has {len(body)} bytes of keys, the limit is {BYTES_MAX}"
        raise EngineError(ResponseCode.SYSTEM_ERROR, remark)
    found: dict[str, str] = {}
    for raw in body.decode("utf-8", "replace").splitlines():
        line = raw.strip()
        if line and line[0] not in "#!":
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    return found
