"""The page of a failed test whose consumer is an unmodified SDK, the official one for Python."""

import pytest

pytest_plugins = ["pytester"]

TEST = """
    from rocketmq import ClientConfiguration, Credentials, FilterExpression, SimpleConsumer

    def test_two_orders_are_booked(rocketmq):
        orders = rocketmq.topic("orders", queues=1)
        rocketmq.group("billing")
        orders.send("tea", keys=["1001"])
        orders.send("coffee", keys=["1002"])
        configuration = ClientConfiguration(rocketmq.endpoint, Credentials("", ""))
        consumer = SimpleConsumer(configuration, "billing", {"orders": FilterExpression("*")}, await_duration=1)
        consumer.startup()
        try:
            booked = consumer.receive(1, 60)
            consumer.ack(booked[0])
            assert len(booked) == 2
        finally:
            consumer.shutdown()
"""


def test_page_shows_what_the_consumer_received(pytester: pytest.Pytester) -> None:
    """The order without acknowledgement is listed first; the other has a delivery to the SDK and an acknowledgement."""
    pytester.makepyfile(test_shop=TEST)
    pytester.runpytest_subprocess("--rocketmq-html=pages").assert_outcomes(failed=1)
    [page] = (pytester.path / "pages").rglob("*.html")
    text = page.read_text()
    assert text.index("key 1002") < text.index("key 1001")
    _, second, first = text.split("<summary>orders")[:3]
    assert "<strong>delivered</strong>" not in second
    assert "<strong>acknowledged</strong>" in first
    assert "(PYTHON " in first
    assert "50.0 % of 2 messages" in text
