"""Limits for groups that read messages no longer in memory, and how the log is read ahead.

Nothing is cold on a broker whose `coldDataFlowControlEnable` is off, as it is by itself: it only keeps the limits.
"""

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.answer import Answer
from ...worlds.remoting import Remoting
from ..admin.config import told

READ_AHEAD = "dataReadAheadEnable"


def limit(t: Remoting, text: str) -> Answer:
    """Set limits of groups by a text of properties."""
    return t.ask(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, {}, text.encode())


def limits(t: Remoting) -> object:
    """The limits that are set, and what else is told."""
    return t.ask(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, {})


@remoting_case("AdminBrokerProcessor.updateColdDataFlowCtrGroupConfig", alone=True)
def limits_of_groups_are_kept(t: Remoting) -> None:
    """Each group has its number; what is no number is left out, the rest of the text is not."""
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
    """What holds for groups without a limit, and for all together, comes from its settings."""
    told = t.ask(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, {}).json
    t.see("thresholds", [told["cgColdReadThreshold"], told["globalColdReadThreshold"], told["globalAcc"]])


@remoting_case("AdminBrokerProcessor.setCommitLogReadaheadMode", alone=True)
def reading_ahead_is_switched(t: Remoting) -> None:
    """Mode 0 reads ahead and 1 does not, which the settings tell; other modes and none are refused."""
    for mode in (1, 0):
        t.see(f"mode {mode}", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": mode}), 0)
        t.see(f"setting after {mode}", told(t, READ_AHEAD))
    t.see("other mode", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": 2}), 29)
    t.see("no number", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, {"READ_AHEAD_MODE": "x"}), 1)
    t.see("no field", t.ask(RequestCode.SET_COMMITLOG_READ_MODE, None), 1)
