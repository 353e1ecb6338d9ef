"""Every button of the views has its effect, and the page shows the text of a rejection."""

from console_browser import Browser
from console_shop import Shop
from control_client import ask
from rocketmq_testkit.fixtures import Emulator


def test_topics_are_created_and_deleted(browser: Browser, quiet: Emulator) -> None:
    """The form creates a topic with its type; the button of the topic deletes it after a confirmation."""
    browser.open(quiet.control, "topics")
    browser.fill("Name", "parcels")
    browser.choose("Type", "FIFO")
    browser.click("Create topic")
    browser.noticed("Topic parcels is created")
    assert quiet.topics["parcels"].type == "FIFO"
    browser.fill("Name", "not a topic")
    browser.click("Create topic")
    browser.noticed("not a topic")
    browser.go("topic/parcels")
    browser.click("Delete topic")
    browser.confirm("Yes")
    browser.noticed("Topic parcels is deleted")
    assert "parcels" not in quiet.topics
    browser.field("with topics of the broker").click()
    browser.shows("SCHEDULE_TOPIC_XXXX")


def test_message_is_sent_from_the_form(browser: Browser, quiet: Emulator) -> None:
    """The stored message has the body, tag, keys and properties of the form."""
    browser.open(quiet.control, "topic/orders")
    browser.fill("Body", "two teas")
    browser.fill("Tag", "tea")
    browser.fill("Keys", "7 8")
    browser.fill("Properties", "color=green")
    browser.click("Send message")
    browser.noticed("is stored")
    sent = quiet.messages("orders")[-1]
    assert (sent.body, sent.tag, sent.keys, sent.properties["color"]) == (b"two teas", "tea", ["7", "8"], "green")
    browser.until(lambda: "two teas" in browser.rows("Messages of orders")[0])


def test_groups_are_created_reset_and_deleted(browser: Browser, quiet: Emulator) -> None:
    """The forms create a group, reset its offset and delete it."""
    browser.open(quiet.control, "groups")
    browser.fill("Name", "mail")
    browser.field("orderly").click()
    browser.click("Create group")
    browser.noticed("Group mail is created")
    assert quiet.groups["mail"].orderly
    browser.go("group/mail")
    browser.fill("Topic", "orders")
    browser.choose("To", "earliest")
    browser.click("Reset offset")
    browser.noticed("Offsets of mail are reset")
    browser.until(lambda: browser.rows("Topics of mail"))
    browser.click("Delete group")
    browser.confirm("Yes")
    browser.noticed("Group mail is deleted")
    assert "mail" not in quiet.groups


def test_client_expires(browser: Browser, shop: Shop) -> None:
    """The button ends all registrations of one client."""
    browser.open(shop.emulator.control, "clients")
    browser.click("Expire packer-2")
    browser.noticed("Client packer-2 has expired")
    browser.until(lambda: not any(each.startswith("packer-2") for each in browser.rows("Clients")))
    assert "packer-2" not in shop.emulator.clients


def test_clock_is_advanced_in_three_ways(browser: Browser, quiet: Emulator) -> None:
    """The clock advances by a duration, to the next event, or until a condition is true; invalid input is rejected."""
    browser.open(quiet.control, "scheduled")
    begin = quiet.clock.now_ms
    browser.fill("By", "10s")
    browser.click("Advance")
    browser.noticed("It is 2026-01-31 12:00:10")
    assert quiet.clock.now_ms == begin + 10_000
    browser.choose("Until", "messages")
    browser.fill("Topic or group", "payments")
    browser.click("Advance until")
    browser.noticed("It is 2026-01-31 12:01:00")
    quiet.topics["payments"].send("later", properties={"DELAY": "3"})
    browser.until(lambda: "delay level" in browser.text("main"))
    browser.click("Advance to the next event")
    browser.noticed("delay level")
    browser.fill("By", "soon")
    browser.click("Advance")
    browser.noticed("soon")
    browser.field("with housekeeping").click()
    browser.field("wait for clients").click()
    browser.fill("By", "1s")
    browser.click("Advance")
    browser.noticed("It is 2026-01-31 12:01:1")


def test_rule_is_added_from_the_form_of_the_schema(browser: Browser, quiet: Emulator) -> None:
    """The form has a field for each parameter; the rule fires, is counted, and is removed."""
    browser.open(quiet.control, "faults")
    browser.choose("Fault", "then delay_response")
    browser.shows("half of the range of a uniform delay")
    browser.fill("duration", "1s")
    browser.fill("topic", "orders, pay*")
    browser.choose("protocol", "remoting")
    browser.fill("times", "3")
    browser.fill("name", "slow")
    browser.click("Add rule")
    browser.noticed("Rule slow is added")
    rule = ask(quiet.control, "GET", "/v1/faults/slow")[1]["rule"]
    assert rule["then"] == {"delay_response": {"duration": "1s"}}
    assert rule["when"] == {"protocol": "remoting", "topic": ["orders", "pay*"]}
    assert rule["times"] == 3
    browser.click("Remove slow")
    browser.noticed("Rule slow is removed")
    browser.choose("Fault", "preset lossy-acks")
    browser.fill("loss", "0.5")
    browser.click("Add rule")
    browser.noticed("Rules drop_request, drop_response are added")
    browser.until(lambda: len(browser.rows("Rules of faults")) == 2)
    browser.click("Remove all")
    browser.noticed("2 rules are removed")
    browser.fill("loss", "0")
    browser.click("Add rule")
    browser.noticed("No rule is added")
    browser.choose("Fault", "then drop_response")
    browser.fill("name", "lost")
    browser.click("Add rule")
    browser.noticed("Rule lost is added")
    browser.click("Remove all")
    browser.noticed("1 rule is removed")
    assert list(quiet.faults) == []


def test_rule_is_added_as_json(browser: Browser, quiet: Emulator) -> None:
    """A rule can be written as JSON; for a mistake the page shows the emulator's error text."""
    browser.open(quiet.control, "faults")
    browser.click("As JSON")
    browser.click("Write it as JSON")
    browser.fill("Rule, or a list of rules", "{")
    browser.click("Add JSON")
    browser.noticed("not JSON")
    browser.fill("Rule, or a list of rules", '[{"then": "drop_respons"}]')
    browser.click("Add JSON")
    browser.noticed("drop_response")
    browser.fill("Rule, or a list of rules", '[{"then": "drop_response"}]')
    browser.click("Add JSON")
    browser.noticed("Rule drop_response is added")


def test_fired_rule_is_counted(browser: Browser, shown: Shop) -> None:
    """The page shows how often a rule has fired, and the journal shows its action."""
    browser.open(shown.emulator.control, "faults")
    [row] = browser.until(lambda: browser.rows("Rules of faults"))
    assert row.split("\n")[-1].split()[:2] == ["1", "1"] or " 1 1" in row.replace("\n", " ")


def test_brokers_are_stopped_started_restarted_and_crashed(browser: Browser, quiet: Emulator) -> None:
    """Each button changes the state of its broker, which the page shows."""
    browser.open(quiet.control, "brokers")
    for stop in ("Stop", "Kill"):
        browser.click(f"{stop} broker-b")
        browser.until(lambda: "down" in browser.rows("Brokers")[1])
        browser.click("Start broker-b")
        browser.until(lambda: "up" in browser.rows("Brokers")[1])
    browser.click("Restart broker-b")
    browser.noticed("was restarted")
    browser.click("Crash broker-b")
    browser.noticed("crashed")


def test_journal_is_cleared(browser: Browser, quiet: Emulator) -> None:
    """The button deletes all lines of the journal."""
    browser.open(quiet.control, "journal")
    browser.click("Clear")
    browser.noticed("lines are deleted")
    browser.shows("There is no such line.")
    assert len(quiet.journal) == 0


def test_any_request_can_be_sent(browser: Browser, quiet: Emulator) -> None:
    """The form of the OpenAPI description sends a request, with its example as body, and shows the response."""
    browser.open(quiet.control, "requests")
    options = browser.field("Request").find_elements("tag name", "option")
    names = [each.text for each in options]
    assert len(names) > 60
    browser.choose("Request", str(names.index("POST /v1/clock/advance")))
    browser.shows("by")
    browser.click("Send request")
    browser.shows("200", ".whole")
    browser.shows("now_ms", ".whole")
    browser.choose("Request", str(names.index("GET /v1/topics/{topic}")))
    browser.fill("topic (required)", "no-such-topic")
    browser.click("Send request")
    browser.shows("404", ".whole")
    browser.shows("there is no such topic", ".whole")
