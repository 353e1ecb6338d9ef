"""Cold-read limits of consumer groups and the read-ahead mode of the commit log.

With coldDataFlowControlEnable off, the default, the broker stores the limits but does not apply them. The brokers on
which it is on also have accessMessageInMemoryHotRatio 0, so that all stored messages count as cold.
"""

from collections.abc import Mapping

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.broker_config import read_settings

READ_AHEAD = "dataReadAheadEnable"
ALL_COLD: Mapping[str, str] = {
    "coldDataFlowControlEnable": "true",
    "accessMessageInMemoryHotRatio": "0",
    "cgColdReadThreshold": "1",
}
CLEARED_WITHIN_S = 12.0
"""The longest time in seconds until a pull is served again: two rounds of 5 s, and margin."""


def limit(t: RemotingContext, text: str) -> DecodedResponse:
    """Set limits of groups, written as Java properties."""
    return t.request(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, {}, text.encode())


def limits(t: RemotingContext) -> DecodedResponse:
    """Request the configured limits and runtime data."""
    return t.request(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, {})


@remoting_case("AdminBrokerProcessor.updateColdDataFlowCtrGroupConfig", alone=True)
def cold_read_limits_are_stored_per_group_and_invalid_lines_skipped(t: RemotingContext) -> None:
    """The broker stores one limit per group. A line with a non-numeric limit is skipped, the other lines count."""
    group, other = t.new("group"), t.new("group")
    t.note("at first", limits(t), 0)
    t.note("set", limit(t, f"{group}=1024\n"), 0)
    t.note("then", limits(t))
    t.note("set again, with another", limit(t, f"{group}=2048\n{other}=4096\nbroken=many\n"), 0)
    t.note("then both", limits(t))
    t.note("negative", limit(t, f"{other}=-1\n"), 0)
    t.note("nothing", limit(t, ""), 0)
    t.note("after these", limits(t))
    t.note("removed", t.request(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}, group.encode()), 0)
    t.note("removed again", t.request(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}, group.encode()), 0)
    t.note("nobody removed", t.request(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}), 0)
    t.note("in the end", limits(t))


@remoting_case("ColdDataCgCtrService.getColdDataFlowCtrInfo", settings={"globalColdReadThreshold": "5000000"})
def cold_read_thresholds_come_from_the_broker_config(t: RemotingContext) -> None:
    """The thresholds for groups without a limit and for all groups together come from the broker's configuration."""
    read_settings = t.request(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, {}).json
    t.note(
        "thresholds",
        [read_settings["cgColdReadThreshold"], read_settings["globalColdReadThreshold"], read_settings["globalAcc"]],
    )


@remoting_case("AdminBrokerProcessor.setCommitLogReadaheadMode", alone=True)
def the_commit_log_read_mode_switches_read_ahead(t: RemotingContext) -> None:
    """Mode 0 enables read-ahead and mode 1 disables it, as the configuration shows.

    Other modes and none are rejected.
    """
    for mode in (1, 0):
        t.note(f"mode {mode}", t.request(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": mode}), 0)
        t.note(f"setting after {mode}", read_settings(t, READ_AHEAD))
    t.note("other mode", t.request(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": 2}), 29)
    t.note("no number", t.request(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": "x"}), 1)
    t.note("no field", t.request(RequestCode.SET_COMMITLOG_READ_MODE, None), 1)


def _member(t: RemotingContext, kind: str) -> tuple[str, str]:
    """Register a member of a new group, send it two messages, and return (topic, group)."""
    topic, group = t.topic(queues=1), t.group()
    t.heartbeat(t.new("client"), groups={group: {topic: "*"}}, type=kind)
    t.sent(topic, 2)
    return topic, group


@remoting_case("PullMessageProcessor.processRequest", settings=ALL_COLD, alone=True)
def a_push_consumer_over_its_limit_of_cold_reads_is_refused(t: RemotingContext) -> None:
    """A push consumer's pull that exceeds the limit is served; later ones return SYSTEM_BUSY until counts are reset."""
    topic, group = _member(t, "CONSUME_PASSIVELY")
    t.note("served", t.pull(topic, group, max_messages=1).code)
    t.note("next", t.pull(topic, group, offset=1), 2)
    read = limits(t).json["runtimeTable"][group]
    t.note("counted bytes, times", [read["coldAcc"] > 0, sorted(read)])
    t.note("end of the queue", t.pull(topic, group, offset=2).code)
    t.note("later", t.until(lambda: t.pull(topic, group, offset=1).code == 0, CLEARED_WITHIN_S))


@remoting_case("ColdDataPullRequestHoldService.checkColdDataPullRequest", settings=ALL_COLD, alone=True)
def a_pull_consumer_over_its_limit_of_cold_reads_waits(t: RemotingContext) -> None:
    """A pull of a pull consumer over its limit waits for at least 3 s, until the next check, which runs every 5 s."""
    topic, group = _member(t, "CONSUME_ACTIVELY")
    t.note("served", t.pull(topic, group, max_messages=1).code)
    watch = t.stopwatch()
    t.note_arrival(t.start_pull(topic, group, offset=1), watch, 2.9, 9, code=0)


@remoting_case("ColdDataCgCtrService.isCgNeedColdDataFlowCtr", settings={**ALL_COLD, "cgColdReadThreshold": "100000"})
def the_limit_of_cold_reads_of_a_group_precedes_the_configuration(t: RemotingContext) -> None:
    """A group with a limit of its own is suspended at that limit, and no longer when the limit is removed."""
    topic, group = _member(t, "CONSUME_PASSIVELY")
    t.note("served", t.pull(topic, group, max_messages=1).code)
    t.note("with the limit of the configuration", t.pull(topic, group, offset=1).code)
    limit(t, f"{group}=1\n")
    t.note("with a limit of its own", t.pull(topic, group, offset=1).code)
    t.request(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}, group.encode())
    t.note("without it again", t.pull(topic, group, offset=1).code)


@remoting_case("ColdDataCgCtrService.isCgNeedColdDataFlowCtr", settings=ALL_COLD, alone=True)
def a_group_without_members_over_its_limit_of_cold_reads_gets_an_error(t: RemotingContext) -> None:
    """A pull over the limit of a group without members is an error, because the broker has no consume type of it."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    t.note("served", t.pull(topic, group, max_messages=1).code)
    t.note("next", t.pull(topic, group, offset=1), 1)
