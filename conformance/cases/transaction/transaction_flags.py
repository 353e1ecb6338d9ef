"""Transaction bits of the sysFlag without the property TRAN_MSG, which alone makes a half message."""

from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.settings import NO_AUTO_CREATE, shared_settings
from ...helpers.transactions import COMMIT, PREPARED, ROLLBACK, shown, transacting

FLAGS = (PREPARED, ROLLBACK, COMMIT)
"""Transaction types in the sysFlag of a send: prepared, rolled back and committed."""


def _in_log(t: RemotingContext, sent: DecodedResponse) -> ReceivedMessage:
    """Return the message stored by a send, read from the commit log."""
    [message] = t.view(sent.place).messages
    return message


@remoting_case("SendMessageProcessor.sendMessage")
def without_tran_msg_a_prepared_flag_stores_a_message_in_no_queue(t: RemotingContext) -> None:
    """A send with sysFlag prepared or rolled back, but without TRAN_MSG, is stored under its topic but in no queue."""
    topic, group = t.topic(queues=1), t.group()
    for flag in FLAGS:
        sent = t.send(topic, f"flag {flag}", sysFlag=flag)
        t.note(f"sent with {flag}", sent, 0)
        t.note("stored as", shown(_in_log(t, sent)))
    t.until(lambda: t.max_offset(topic) == 1, 5)
    t.note("in its queue", t.pull(topic, group), 0)
    t.note("popped", t.pop(topic, group).bodies)


@remoting_case("CommitLog.DefaultAppendMessageCallback.doAppend")
def messages_in_no_queue_take_no_queue_offset(t: RemotingContext) -> None:
    """A message that is stored in no queue gets offset 0 in its response, and queue offsets skip it."""
    topic = t.topic(queues=1)
    places = [t.send(topic, f"flag {flag}", sysFlag=flag)["queueOffset"] for flag in (0, PREPARED, 0, ROLLBACK, 0)]
    t.note("offsets", places)
    t.note("stored", t.stored(topic, 3).bodies)


@remoting_case("IndexService.buildIndex")
def a_key_query_finds_prepared_but_not_rolled_back_messages(t: RemotingContext) -> None:
    """A key query finds a prepared message that is in no queue, but not a rolled back one."""
    topic = t.topic(queues=1)
    for flag in FLAGS:
        t.send(topic, f"flag {flag}", sysFlag=flag, keys="k")

    def found() -> list[str]:
        response = t.query(topic, "k")
        return response.bodies if response.code == 0 else []

    t.until(lambda: len(found()) > 1, 5)
    t.note("found", sorted(found()))


@remoting_case("DefaultMessageStore.notifyMessageArriveIfNecessary")
def a_message_in_no_queue_wakes_a_pull_held_at_offset_0(t: RemotingContext) -> None:
    """A pull waiting at the beginning of a queue returns empty when a message is stored that belongs to no queue."""
    topic, group = t.topic(queues=1), t.group()
    for flag in (PREPARED, ROLLBACK):
        pull = t.start_pull(topic, group, suspend_ms=15_000)
        t.wait(0.5)
        watch = t.stopwatch()
        t.send(topic, f"flag {flag}", sysFlag=flag)
        t.note_arrival(pull, watch, 0, 3, code=19)
    t.sent(topic, 1)
    later = t.start_pull(topic, group, 0, 1, suspend_ms=15_000)
    t.wait(0.5)
    t.send(topic, "flag 4", sysFlag=PREPARED)
    t.wait(1)
    t.note("one held further on", later.arrived())


@remoting_case("PopLongPollingService.notifyMessageArriving")
def a_message_in_no_queue_wakes_no_held_pop(t: RemotingContext) -> None:
    """A waiting pop is not completed by a message that is stored in no queue."""
    topic, group = t.topic(queues=1), t.group()
    pop = t.start_pop(topic, group, poll_ms=15_000)
    t.wait(0.5)
    t.send(topic, "flag 4", sysFlag=PREPARED)
    t.wait(1)
    t.note("popped", pop.arrived())
    watch = t.stopwatch()
    t.send(topic, "for all")
    response = t.arrival(pop)
    t.note("then", response.bodies)
    t.note("after", watch.between(0, 3))


@remoting_case("HookUtils.handleScheduleMessage")
def the_delay_level_of_a_message_in_no_queue_has_no_effect(t: RemotingContext) -> None:
    """The delay level of a prepared or rolled back send has no effect; a committed one is delayed."""
    topic = t.topic(queues=1)
    for flag in FLAGS:
        sent = t.send(topic, f"flag {flag}", sysFlag=flag, properties={"DELAY": "1"})
        t.note(f"sent with {flag}", sent.without("queueOffset", "msgId"), 0)
        t.note("stored as", shown(_in_log(t, sent)))
    t.note("in its queue", t.stored(topic, seconds=10), 0)


@remoting_case("SendMessageProcessor.sendMessage")
def tran_msg_true_makes_a_half_message_with_any_sys_flag(t: RemotingContext) -> None:
    """TRAN_MSG=true in any letter case makes a half message, and the sysFlag does not matter. Other values do not."""
    producers = transacting(t)
    home = {"PGROUP": producers.name}
    for word in ("true", "TRUE", "True", "yes", "1", " true"):
        sent = t.send(producers.topic, word, sysFlag=0, properties={**home, "TRAN_MSG": word})
        t.note(f"sent with {word}", sent.without("queueOffset"), 0)
        t.note("stored as", shown(_in_log(t, sent)))
    for flag in (ROLLBACK, COMMIT):
        sent = t.send(producers.topic, f"flag {flag}", sysFlag=flag, properties={**home, "TRAN_MSG": "true"})
        t.note(f"stored with {flag}", shown(_in_log(t, sent)))
        t.note("commit", producers.end(sent, COMMIT), 0)
    t.note("in its queue", sorted(t.stored(producers.topic, 5, seconds=5).bodies))


@remoting_case("SendMessageProcessor.sendMessage")
def a_reconsumed_message_with_a_delay_level_is_no_half_message(t: RemotingContext) -> None:
    """A message with TRAN_MSG is delayed as an ordinary one if it has a delay level and was consumed before."""
    producers = transacting(t)
    half = {"TRAN_MSG": "true", "PGROUP": producers.name}
    for times, level in ((1, "1"), (1, "0"), (0, "1")):
        sent = t.send(producers.topic, f"{times}, {level}", reconsumeTimes=times, properties={**half, "DELAY": level})
        t.note(f"consumed {times}, level {level}", shown(_in_log(t, sent)))
    flagged = t.send(producers.topic, "flagged", reconsumeTimes=1, sysFlag=PREPARED, properties={**half, "DELAY": "1"})
    t.note("flagged", shown(_in_log(t, flagged)))
    t.note("in its queue", t.stored(producers.topic, seconds=10), 0)


@remoting_case("SendMessageProcessor.sendMessage", settings=shared_settings(NO_AUTO_CREATE, "rejectTransactionMessage"))
def reject_transaction_message_accepts_a_prepared_flag_alone(t: RemotingContext) -> None:
    """With rejectTransactionMessage a send with TRAN_MSG is rejected; one with only the sysFlag is accepted."""
    producers = transacting(t)
    t.note("flag alone", t.send(producers.topic, sysFlag=PREPARED), 0)
    t.note("property alone", t.send(producers.topic, properties={"TRAN_MSG": "TRUE", "PGROUP": producers.name}), 16)
