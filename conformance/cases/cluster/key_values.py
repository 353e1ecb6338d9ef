"""Key-value configuration of the name server, and its own settings."""

from collections.abc import Mapping

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.broker_config import settings_of


def ask(t: Remoting, code: int, ext: Mapping[str, object], body: bytes = b"") -> Answer:
    """Send a request to the name server."""
    return t.ask(code, ext, body, to=t.namesrv)


@remoting_case("KVConfigManager.putKVConfig")
def a_value_is_kept(t: Remoting) -> None:
    """A value is found by namespace and key, can be replaced, and is not found once deleted."""
    place = {"namespace": t.new("namespace"), "key": "k"}
    t.see("put", ask(t, RequestCode.PUT_KV_CONFIG, {**place, "value": "first"}), 0)
    t.see("got", ask(t, RequestCode.GET_KV_CONFIG, place), 0)
    ask(t, RequestCode.PUT_KV_CONFIG, {**place, "value": "second = 2; ä"})
    t.see("replaced", ask(t, RequestCode.GET_KV_CONFIG, place), 0)
    t.see("deleted", ask(t, RequestCode.DELETE_KV_CONFIG, place), 0)
    t.see("gone", ask(t, RequestCode.GET_KV_CONFIG, place), 22)


@remoting_case("KVConfigManager.getKVListByNamespace")
def a_namespace_is_listed(t: Remoting) -> None:
    """All values of a namespace are listed. A namespace without remaining values still exists and is empty."""
    namespace = t.new("namespace")
    for key in ("a", "b"):
        ask(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "key": key, "value": f"of {key}"})
    t.see("both", ask(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}).json)
    for key in ("a", "b"):
        ask(t, RequestCode.DELETE_KV_CONFIG, {"namespace": namespace, "key": key})
    t.see("emptied", ask(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}))
    t.see("unknown", ask(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": t.new("namespace")}), 22)


@remoting_case("DefaultRequestProcessor.getKVConfig")
def a_value_that_is_not_there_is_an_error(t: Remoting) -> None:
    """Reading a missing value fails; deleting one succeeds."""
    place = {"namespace": t.new("namespace"), "key": "k"}
    t.see("unknown namespace", ask(t, RequestCode.GET_KV_CONFIG, place), 22)
    ask(t, RequestCode.PUT_KV_CONFIG, {**place, "value": "v"})
    t.see("unknown key", ask(t, RequestCode.GET_KV_CONFIG, {**place, "key": "other"}), 22)
    t.see("deleted", ask(t, RequestCode.DELETE_KV_CONFIG, {**place, "key": "other"}), 0)
    t.see("deleted from nowhere", ask(t, RequestCode.DELETE_KV_CONFIG, {**place, "namespace": t.new("namespace")}), 0)


@remoting_case("DefaultRequestProcessor.putKVConfig")
def parts_of_a_value_may_be_missing(t: Remoting) -> None:
    """A value without namespace or key is rejected; one without a value is accepted."""
    namespace = t.new("namespace")
    t.see("no namespace", ask(t, RequestCode.PUT_KV_CONFIG, {"key": "k", "value": "v"}))
    t.see("no key", ask(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "value": "v"}))
    t.see("no value", ask(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "key": "k"}), 0)
    t.see("got no value", ask(t, RequestCode.GET_KV_CONFIG, {"namespace": namespace, "key": "k"}))
    t.see("empty value", ask(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "key": "k", "value": ""}), 0)
    t.see("got empty value", ask(t, RequestCode.GET_KV_CONFIG, {"namespace": namespace, "key": "k"}))
    t.see("get without namespace", ask(t, RequestCode.GET_KV_CONFIG, {"key": "k"}))
    t.see("get without key", ask(t, RequestCode.GET_KV_CONFIG, {"namespace": namespace}))
    t.see("list without namespace", ask(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {}))


@remoting_case("DefaultRequestProcessor.getConfig")
def the_name_server_tells_its_settings(t: Remoting) -> None:
    """GET_NAMESRV_CONFIG returns the settings as properties text."""
    settings = settings_of(ask(t, RequestCode.GET_NAMESRV_CONFIG, {}).body)
    names = ("orderMessageEnable", "enableAllTopicList", "enableTopicList")
    t.see("settings", {name: settings.get(name) for name in names})


@remoting_case("DefaultRequestProcessor.updateConfig")
def some_settings_of_the_name_server_are_fixed(t: Remoting) -> None:
    """Paths of the name server's files cannot be changed."""
    for name in ("kvConfigPath", "configStorePath", "configBlackList", "rocketmqHome"):
        t.see(name, ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, f"{name}=/x\n".encode()), 16)


@remoting_case("DefaultRequestProcessor.updateConfig", tidy=True)
def settings_of_the_name_server_can_be_changed(t: Remoting) -> None:
    """A changed name server setting takes effect at once, such as switching off topic lists."""
    off = b"enableAllTopicList=false\nenableTopicList=false\n"
    t.see("changed", ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, off), 0)
    t.see("all topics", ask(t, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}))
    t.see("topics of a cluster", ask(t, RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": t.cluster}))
    for code in (
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    ):
        t.see(code.name, ask(t, code, {}))
    settings = settings_of(ask(t, RequestCode.GET_NAMESRV_CONFIG, {}).body)
    t.see("told", [settings["enableAllTopicList"], settings["enableTopicList"]])
    ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"enableAllTopicList=true\nenableTopicList=true\n")


@remoting_case("Configuration.update", tidy=True)
def unknown_settings_of_the_name_server_are_ignored(t: Remoting) -> None:
    """Unknown settings and malformed text are ignored without an error."""
    t.see("unknown", ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"noSuchSetting=1\n"))
    t.see("garbage", ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"garbage"))
    t.see("no body", ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}))
    t.see("wrong value", ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"enableTopicList=maybe\n"))
    settings = settings_of(ask(t, RequestCode.GET_NAMESRV_CONFIG, {}).body)
    t.see("told", [settings.get("noSuchSetting"), settings["enableTopicList"]])
    ask(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"enableTopicList=true\n")
