"""Clients with credentials, while broker and proxy authenticate and authorize requests."""

from collections.abc import Iterator
from contextlib import contextmanager

from rocketmq_testkit.remoting.client import Credentials

from ..helpers.accounts import entry, user
from ..helpers.settings import ACL_ENFORCED
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext


@contextmanager
def signing(s: ScenarioContext, *entries: dict[str, object], secret: str | None = None) -> Iterator[None]:
    """Use a new user with these permissions within the block, with `secret` instead of its own secret if given."""
    credentials = user(s.admin, *entries)
    with s.signing(credentials if secret is None else Credentials(credentials.access_key, secret)):
        yield


@scenario("AuthenticationPipeline.execute, AuthorizationPipeline.execute", settings=ACL_ENFORCED)
def a_user_permitted_one_topic_and_one_group_sends_and_receives(s: ScenarioContext) -> None:
    """A user permitted to use only one topic and one group sends to that topic and receives as that group."""
    topic, group = s.topic(), s.group()
    with signing(s, entry(f"Topic:{topic}", "Pub", "Sub"), entry(f"Group:{group}", "Sub")):
        consumer = s.consumer(group, topic)
        producer = s.producer(topic)
        for number in range(3):
            producer.send(topic, f"m{number}")
        s.wait_for(3, consumer)
        s.note("received", sorted(consumer.bodies))


@scenario("AclAuthorizationHandler.handle", settings=ACL_ENFORCED)
def a_send_without_pub_permission_is_refused(s: ScenarioContext) -> None:
    """A send by a user who may only subscribe to the topic fails in the SDK, and nothing is stored."""
    topic = s.topic()
    with signing(s, entry(f"Topic:{topic}", "Sub")):
        s.refusal("sent", lambda: s.producer(topic).send(topic, "no"))
    s.note("stored", s.admin.max_offset(topic))


@scenario("DefaultAuthenticationHandler.doAuthenticate", settings=ACL_ENFORCED)
def a_send_signed_with_a_wrong_secret_is_refused(s: ScenarioContext) -> None:
    """A send signed with a wrong secret fails in the SDK, and nothing is stored."""
    topic = s.topic()
    with signing(s, entry("*", "All"), secret="another"):
        s.refusal("sent", lambda: s.producer(topic).send(topic, "no"))
    s.note("stored", s.admin.max_offset(topic))
