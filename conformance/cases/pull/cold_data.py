"""Cold-read limits of consumer groups and the read-ahead mode of the commit log.

With coldDataFlowControlEnable off, the default, the broker stores the limits but does not apply them.
"""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.broker_config import told

READ_AHEAD = "dataReadAheadEnable"


def limit(t: Remoting, text: str) -> Answer:
    """Set limits of groups, written as Java properties."""
    return t.ask(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, {}, text.encode())


def limits(t: Remoting) -> object:
    """Request the configured limits and runtime data."""
    return t.ask(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, {})


@remoting_case("AdminBrokerProcessor.updateColdDataFlowCtrGroupConfig", alone=True)
def limits_of_groups_are_kept(t: Remoting) -> None:
    """The broker stores one limit per group. A line with a non-numeric limit is skipped, the other lines count."""
    group, other = t.new("group"), t.new("group")
    t.see("at first", limits(t), 0)
    t.see("set", limit(t, f"{group}=1024\n"), 0)
    t.see("then", limits(t))
    t.see("set again, with another", limit(t, f"{group}=2048\n{other}=4096\nbroken=many\n"), 0)
    t.see("then both", limits(t))
    t.see("negative", limit(t, f"{other}=-1\n"), 0)
    t.see("nothing", limit(t, ""), 0)
    t.see("after these", limits(t))
    t.see("removed", t.ask(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}, group.encode()), 0)
    t.see("removed again", t.ask(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}, group.encode()), 0)
    t.see("nobody removed", t.ask(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, {}), 0)
    t.see("in the end", limits(t))


@remoting_case("ColdDataCgCtrService.getColdDataFlowCtrInfo", settings={"globalColdReadThreshold": "5000000"})
def thresholds_are_those_of_the_broker(t: Remoting) -> None:
    """The thresholds for groups without a limit and for all groups together come from the broker's configuration."""
    told = t.ask(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, {}).json
    t.see("thresholds", [told["cgColdReadThreshold"], told["globalColdReadThreshold"], told["globalAcc"]])


@remoting_case("AdminBrokerProcessor.setCommitLogReadaheadMode", alone=True)
def reading_ahead_is_switched(t: Remoting) -> None:
    """Mode 0 enables read-ahead and mode 1 disables it, as the configuration shows.

    Other modes and none are rejected.
    """
    for mode in (1, 0):
        t.see(f"mode {mode}", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": mode}), 0)
        t.see(f"setting after {mode}", told(t, READ_AHEAD))
    t.see("other mode", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": 2}), 29)
    t.see("no number", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": "x"}), 1)
    t.see("no field", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, None), 1)
