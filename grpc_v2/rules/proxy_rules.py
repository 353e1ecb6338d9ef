"""Validation of names and times by upstream's proxy (not by its broker). Limits and texts are those of 5.3.3.

Source: GrpcValidator, TopicValidator, Validators, ReceiveMessageActivity (5.3.3).
"""

import re
from collections.abc import Container
from functools import lru_cache

from rocketmq_testkit.emulator.message import names

from ..config.proxy_config import ProxyConfig
from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..proto.timestamps import duration_ms
from .java_texts import no_deadline, unknown_enum, unknown_enum_with_frame
from .status import Refusal, StreamRefusal

# fmt: off
LANGUAGES = frozenset({
    "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST",
    "NODE_JS",
})
# fmt: on
"""Valid names in `x-mq-language`. Source: LanguageCode (5.3.3)."""
_LANGUAGE_CODE = "org.apache.rocketmq.remoting.protocol.LanguageCode"
_NEW_POLLING_CODE_SINCE = "5.0.3"  # clients that know ILLEGAL_POLLING_TIME; upstream compares versions as text
POLLING_TOO_SHORT = "The deadline time remaining is not enough for polling, please check network condition"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Java's ISO control characters."""


def is_blank(text: str) -> bool:
    """True if a text is empty or only white space."""
    return not text or text.isspace()


def check_topic(topic: str, system_topics: Container[str]) -> None:
    """Raise ILLEGAL_TOPIC for names that are blank, ill-formed, longer than 127 characters, or reserved."""
    _check_form_of_topic(topic)
    if topic in system_topics or topic.startswith(names.SYSTEM_TOPIC_PREFIX):
        raise Refusal(pb.ILLEGAL_TOPIC, "cannot access system topic")


@lru_cache(maxsize=4096)
def _check_form_of_topic(topic: str) -> None:
    """Raise ILLEGAL_TOPIC for names that are blank, ill-formed, or longer than 127 characters."""
    if is_blank(topic):
        raise Refusal(pb.ILLEGAL_TOPIC, "The specified topic is blank")
    if not names.has_legal_characters(topic):
        raise Refusal(
            pb.ILLEGAL_TOPIC,
            f"The specified topic[{topic}] contains illegal characters, allowing only {names.ALLOWED}",
        )
    if len(topic) > names.TOPIC_MAX_LENGTH:
        raise Refusal(
            pb.ILLEGAL_TOPIC, f"The specified topic is longer than topic max length {names.TOPIC_MAX_LENGTH}."
        )


@lru_cache(maxsize=4096)
def check_group(group: str) -> None:
    """Raise ILLEGAL_CONSUMER_GROUP for names that are blank, ill-formed, longer than 255 characters, or reserved."""
    if is_blank(group):
        raise Refusal(pb.ILLEGAL_CONSUMER_GROUP, "the specified group is blank")
    if not names.has_legal_characters(group):
        raise Refusal(
            pb.ILLEGAL_CONSUMER_GROUP,
            f"the specified group[{group}] contains illegal characters, allowing only {names.ALLOWED}",
        )
    if len(group) > names.GROUP_MAX_LENGTH:
        raise Refusal(
            pb.ILLEGAL_CONSUMER_GROUP,
            f"the specified group is longer than group max length {names.GROUP_MAX_LENGTH}.",
        )
    if group.startswith(names.SYSTEM_GROUP_PREFIX):
        raise Refusal(pb.ILLEGAL_CONSUMER_GROUP, "cannot use system consumer group")


def group_name(resource: pb.Resource) -> str:
    """Return the validated name of a consumer group. Raises ILLEGAL_CONSUMER_GROUP."""
    name = resource.name
    check_group(name)
    return name


def check_invisible_time(invisible_ms: int, low_ms: int, config: ProxyConfig) -> None:
    """Raise ILLEGAL_INVISIBLE_TIME outside the range `low_ms` to maxInvisibleTimeMills."""
    if invisible_ms < low_ms:
        raise Refusal(pb.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small. min is {low_ms}")
    high_ms = config.max_invisible_time_mills
    if invisible_ms > high_ms:
        raise Refusal(pb.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {high_ms}")


def check_language(language: str) -> str:
    """Return the `x-mq-language`, which is case-sensitive. Raises INTERNAL_SERVER_ERROR for an unknown one."""
    if language not in LANGUAGES:
        raise Refusal(pb.INTERNAL_SERVER_ERROR, unknown_enum_with_frame(_LANGUAGE_CODE, language))
    return language


def check_stream_language(language: str, internal: int) -> str:
    """Check the language of a Telemetry stream. Raises StreamRefusal with `internal`, the number of gRPC's INTERNAL."""
    if language not in LANGUAGES:
        raise StreamRefusal(internal, unknown_enum(_LANGUAGE_CODE, language))
    return language


def check_endpoints(endpoints: pb.Endpoints) -> None:
    """Raise INTERNAL_SERVER_ERROR for addresses without a scheme. Unknown schemes are accepted."""
    if endpoints.addresses and endpoints.scheme == pb.ADDRESS_SCHEME_UNSPECIFIED:
        raise Refusal(
            pb.INTERNAL_SERVER_ERROR,
            unknown_enum_with_frame(
                "org.apache.rocketmq.proxy.common.Address.AddressScheme", "ADDRESS_SCHEME_UNSPECIFIED"
            ),
        )


def poll_time_ms(
    request: sv.ReceiveMessageRequest,
    *,
    remaining_ms: int | None,
    request_timeout_ms: int,
    client_version: str,
    config: ProxyConfig,
) -> int:
    """Return the poll time (ms) of a receive, from the requested poll time and the remaining time of its deadline.

    The default is the remaining time minus half of the settings' request timeout. Raises ILLEGAL_POLLING_TIME
    (BAD_REQUEST for clients before 5.0.3) if the remaining time is shorter than the shortest poll.
    """
    has_poll_time = request.HasField("long_polling_timeout")
    if remaining_ms is None:
        raise Refusal(pb.INTERNAL_SERVER_ERROR, no_deadline(long_polling_timeout=has_poll_time))
    low_ms = config.grpc_client_consumer_min_long_polling_timeout_millis
    high_ms = config.grpc_client_consumer_max_long_polling_timeout_millis
    poll_ms = duration_ms(request.long_polling_timeout) if has_poll_time else remaining_ms - request_timeout_ms // 2
    poll_ms = min(max(poll_ms, low_ms), high_ms)
    if poll_ms > remaining_ms and remaining_ms < low_ms:
        old = not client_version or client_version < _NEW_POLLING_CODE_SINCE
        raise Refusal(pb.BAD_REQUEST if old else pb.ILLEGAL_POLLING_TIME, POLLING_TOO_SHORT)
    return max(min(poll_ms, remaining_ms - config.poll_ends_before_deadline_millis), 0)
