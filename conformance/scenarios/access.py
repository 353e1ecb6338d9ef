"""Clients that sign, where broker and proxy look at everybody."""

from collections.abc import Iterator
from contextlib import contextmanager

from rocketmq_testkit.remoting.client import Credentials

from ..scenario import scenario
from ..settings import GUARDED
from ..stage import Stage
from ..worlds.accounts import entry, user


@contextmanager
def signing(s: Stage, *entries: dict[str, object], secret: str | None = None) -> Iterator[None]:
    """As a new user with these rights, with another secret than its own if one is given."""
    credentials = user(s.world, *entries)
    with s.signing(credentials if secret is None else Credentials(credentials.access_key, secret)):
        yield


@scenario("AuthenticationPipeline.execute, AuthorizationPipeline.execute", settings=GUARDED)
def who_has_the_rights_is_served(s: Stage) -> None:
    """A user with rights to a topic and a group, and to nothing else, sends there and receives for that group."""
    topic, group = s.topic(), s.group()
    with signing(s, entry(f"Topic:{topic}", "Pub", "Sub"), entry(f"Group:{group}", "Sub")):
        consumer = s.consumer(group, topic)
        producer = s.producer(topic)
        for number in range(3):
            producer.send(topic, f"m{number}")
        s.wait_for(3, consumer)
        s.see("received", sorted(consumer.bodies))


@scenario("AclAuthorizationHandler.handle", settings=GUARDED)
def a_send_without_the_right_is_refused(s: Stage) -> None:
    """A user who may read a topic cannot send to it; the SDK raises an error, and nothing is stored."""
    topic = s.topic()
    with signing(s, entry(f"Topic:{topic}", "Sub")):
        s.refusal("sent", lambda: s.producer(topic).send(topic, "no"))
    s.see("stored", s.world.max_offset(topic))


@scenario("DefaultAuthenticationHandler.doAuthenticate", settings=GUARDED)
def another_secret_is_refused(s: Stage) -> None:
    """A user who signs with another secret cannot send; the SDK raises an error, and nothing is stored."""
    topic = s.topic()
    with signing(s, entry("*", "All"), secret="another"):
        s.refusal("sent", lambda: s.producer(topic).send(topic, "no"))
    s.see("stored", s.world.max_offset(topic))
