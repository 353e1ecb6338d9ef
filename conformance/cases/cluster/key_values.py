"""Key-value configuration of the name server, and its own settings."""

from collections.abc import Mapping

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.broker_config import settings_of


def request(t: RemotingContext, code: int, ext: Mapping[str, object], body: bytes = b"") -> DecodedResponse:
    """Send a request to the name server."""
    return t.request(code, ext, body, to=t.namesrv)


@remoting_case("KVConfigManager.putKVConfig")
def a_kv_value_can_be_read_replaced_and_deleted(t: RemotingContext) -> None:
    """A value is found by namespace and key, can be replaced, and is not found once deleted."""
    place = {"namespace": t.new("namespace"), "key": "k"}
    t.note("put", request(t, RequestCode.PUT_KV_CONFIG, {**place, "value": "first"}), 0)
    t.note("got", request(t, RequestCode.GET_KV_CONFIG, place), 0)
    request(t, RequestCode.PUT_KV_CONFIG, {**place, "value": "second = 2; ä"})
    t.note("replaced", request(t, RequestCode.GET_KV_CONFIG, place), 0)
    t.note("deleted", request(t, RequestCode.DELETE_KV_CONFIG, place), 0)
    t.note("gone", request(t, RequestCode.GET_KV_CONFIG, place), 22)


@remoting_case("KVConfigManager.getKVListByNamespace")
def a_kv_namespace_is_listed_even_without_remaining_values(t: RemotingContext) -> None:
    """All values of a namespace are listed. A namespace without remaining values still exists and is empty."""
    namespace = t.new("namespace")
    for key in ("a", "b"):
        request(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "key": key, "value": f"of {key}"})
    t.note("both", request(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}).json)
    for key in ("a", "b"):
        request(t, RequestCode.DELETE_KV_CONFIG, {"namespace": namespace, "key": key})
    t.note("emptied", request(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}))
    t.note("unknown", request(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": t.new("namespace")}), 22)


@remoting_case("DefaultRequestProcessor.getKVConfig")
def reading_a_missing_kv_value_is_an_error_but_deleting_is_not(t: RemotingContext) -> None:
    """Reading a missing value fails; deleting one succeeds."""
    place = {"namespace": t.new("namespace"), "key": "k"}
    t.note("unknown namespace", request(t, RequestCode.GET_KV_CONFIG, place), 22)
    request(t, RequestCode.PUT_KV_CONFIG, {**place, "value": "v"})
    t.note("unknown key", request(t, RequestCode.GET_KV_CONFIG, {**place, "key": "other"}), 22)
    t.note("deleted", request(t, RequestCode.DELETE_KV_CONFIG, {**place, "key": "other"}), 0)
    t.note(
        "deleted from nowhere", request(t, RequestCode.DELETE_KV_CONFIG, {**place, "namespace": t.new("namespace")}), 0
    )


@remoting_case("DefaultRequestProcessor.putKVConfig")
def a_kv_entry_needs_namespace_and_key_but_no_value(t: RemotingContext) -> None:
    """A value without namespace or key is rejected; one without a value is accepted."""
    namespace = t.new("namespace")
    t.note("no namespace", request(t, RequestCode.PUT_KV_CONFIG, {"key": "k", "value": "v"}))
    t.note("no key", request(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "value": "v"}))
    t.note("no value", request(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "key": "k"}), 0)
    t.note("got no value", request(t, RequestCode.GET_KV_CONFIG, {"namespace": namespace, "key": "k"}))
    t.note("empty value", request(t, RequestCode.PUT_KV_CONFIG, {"namespace": namespace, "key": "k", "value": ""}), 0)
    t.note("got empty value", request(t, RequestCode.GET_KV_CONFIG, {"namespace": namespace, "key": "k"}))
    t.note("get without namespace", request(t, RequestCode.GET_KV_CONFIG, {"key": "k"}))
    t.note("get without key", request(t, RequestCode.GET_KV_CONFIG, {"namespace": namespace}))
    t.note("list without namespace", request(t, RequestCode.GET_KVLIST_BY_NAMESPACE, {}))


@remoting_case("DefaultRequestProcessor.getConfig")
def get_namesrv_config_returns_the_settings(t: RemotingContext) -> None:
    """GET_NAMESRV_CONFIG returns the settings as properties text."""
    settings = settings_of(request(t, RequestCode.GET_NAMESRV_CONFIG, {}).body)
    names = ("orderMessageEnable", "enableAllTopicList", "enableTopicList")
    t.note("settings", {name: settings.get(name) for name in names})


@remoting_case("DefaultRequestProcessor.updateConfig")
def changing_a_blacklisted_name_server_setting_is_rejected(t: RemotingContext) -> None:
    """Paths of the name server's files cannot be changed."""
    for name in ("kvConfigPath", "configStorePath", "configBlackList", "rocketmqHome"):
        t.note(name, request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, f"{name}=/x\n".encode()), 16)


@remoting_case("DefaultRequestProcessor.updateConfig", tidy=True)
def a_changed_name_server_setting_takes_effect_at_once(t: RemotingContext) -> None:
    """A changed name server setting takes effect at once, such as switching off topic lists."""
    off = b"enableAllTopicList=false\nenableTopicList=false\n"
    t.note("changed", request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, off), 0)
    t.note("all topics", request(t, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}))
    t.note("topics of a cluster", request(t, RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": t.cluster}))
    for code in (
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    ):
        t.note(code.name, request(t, code, {}))
    settings = settings_of(request(t, RequestCode.GET_NAMESRV_CONFIG, {}).body)
    t.note("settings", [settings["enableAllTopicList"], settings["enableTopicList"]])
    request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"enableAllTopicList=true\nenableTopicList=true\n")


@remoting_case("Configuration.update", tidy=True)
def unknown_settings_of_the_name_server_are_ignored(t: RemotingContext) -> None:
    """Unknown settings and malformed text are ignored without an error."""
    t.note("unknown", request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"noSuchSetting=1\n"))
    t.note("garbage", request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"garbage"))
    t.note("no body", request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}))
    t.note("wrong value", request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"enableTopicList=maybe\n"))
    settings = settings_of(request(t, RequestCode.GET_NAMESRV_CONFIG, {}).body)
    t.note("settings", [settings.get("noSuchSetting"), settings["enableTopicList"]])
    request(t, RequestCode.UPDATE_NAMESRV_CONFIG, {}, b"enableTopicList=true\n")
