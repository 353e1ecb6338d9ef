"""Cold-read limits of consumer groups and the read-ahead mode of the commit log.

With coldDataFlowControlEnable off, the default, the broker stores the limits but does not apply them.
"""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Response
from ...context.remoting import RemotingContext
from ...helpers.broker_config import read_settings

READ_AHEAD = "dataReadAheadEnable"


def limit(t: RemotingContext, text: str) -> Response:
    """Set limits of groups, written as Java properties."""
    return t.request(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, {}, text.encode())


def limits(t: RemotingContext) -> object:
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
