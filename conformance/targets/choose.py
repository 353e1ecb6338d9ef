"""Targets by their names on the command line."""

import re
from collections.abc import Mapping
from pathlib import Path

from rocketmq_testkit.emulator.masking import masked_line
from rocketmq_testkit.remoting.client import Credentials

from .address import WAIT_SECONDS, AddressTarget
from .apache import has_proxy
from .apache_target import ApacheTarget
from .control import ControlledTarget
from .emulator import EmulatorTarget
from .target import REFERENCE_VERSION, Access, Target, TargetError, Tls

FORMS = (
    "emulator | apache:VERSION[,KEY=VALUE...] | namesrv=HOST:PORT,endpoint=HOST:PORT[,version=V][,tls][,ca=FILE]"
    "[,access_key=K,secret_key=K][,token=T][,read_only][,control=URL[,control_token=T]][,wait=SECONDS]"
)
_ADDRESS_WORDS = frozenset(
    {"namesrv", "endpoint", "version", "tls", "ca", "access_key", "secret_key", "token", "read_only", "control"}
    | {"control_token", "wait"}
)
_HOST_PORT = re.compile(r"^(\[[0-9a-fA-F:]+\]|[^:\[\]]+):\d{1,5}$")
_VERSION = re.compile(r"^\d+\.\d+\.\d+$")
_SETTING = re.compile(r"^[A-Za-z]\w*=")
_URL = re.compile(r"^https?://[^/\s]+/?$")


def target(text: str) -> Target:
    """The target of one `--target`. Errors: TargetError that shows the forms."""
    name, _, rest = text.partition(",")
    if text == "emulator":
        return EmulatorTarget()
    if name.startswith("apache:"):
        version = name.removeprefix("apache:")
        if not _VERSION.match(version):
            raise TargetError(f"{name}: name a published version, such as apache:{REFERENCE_VERSION}")
        if not has_proxy(version):
            raise TargetError(f"{name}: cases speak gRPC as well, and there is a proxy for that from 5.0.0 on")
        return ApacheTarget(version, _settings(rest))
    if "namesrv=" in text:
        return _address(text)
    raise TargetError(f"{_shown(text)!r} is not a target; write {FORMS}")


def _address(text: str) -> Target:
    words = _words(text)
    unknown = sorted(set(words) - _ADDRESS_WORDS)
    if unknown:
        raise TargetError(f"{_shown(text)!r}: {', '.join(unknown)} is not known; write {FORMS}")
    for name in ("namesrv", "endpoint"):
        if not _HOST_PORT.match(words.get(name, "")):
            raise TargetError(f"{_shown(text)!r}: {name} must be HOST:PORT; write {FORMS}")
    credentials = None
    if "access_key" in words or "secret_key" in words:
        if not words.get("access_key") or not words.get("secret_key"):
            raise TargetError("an access key and its secret key belong together; give both")
        credentials = Credentials(words["access_key"], words["secret_key"], words.get("token"))
    tls = None
    if "tls" in words or "ca" in words:
        ca = Path(words["ca"]) if words.get("ca") else None
        if ca is not None and not ca.is_file():
            raise TargetError(f"ca={ca}: there is no such file")
        tls = Tls(ca)
    access = Access(words["namesrv"], words["endpoint"], tls, credentials)
    version = words.get("version")
    if version is not None and not _VERSION.match(version):
        raise TargetError(f"{_shown(text)!r}: version must be one such as {REFERENCE_VERSION}")
    wait = words.get("wait", f"{WAIT_SECONDS:g}")
    if not wait.isascii() or not wait.isdigit():
        raise TargetError(
            f"{_shown(text)!r}: wait must be a number of seconds, such as {WAIT_SECONDS:g}; 0 does not wait"
        )
    admin = "read_only" not in words
    addresses = AddressTarget(_shown(text), access, version=version, admin=admin, wait_seconds=int(wait))
    if "control" not in words:
        return addresses
    if not _URL.match(words["control"]):
        raise TargetError(f"{_shown(text)!r}: control must be a URL such as http://127.0.0.1:8090")
    return ControlledTarget(addresses, words["control"], words.get("control_token"))


def _settings(text: str) -> Mapping[str, str]:
    for each in filter(None, text.split(",")):
        if not _SETTING.match(each):
            raise TargetError(f"{each!r}: a key of broker.conf is given as KEY=VALUE")
    return _words(text)


def _shown(text: str) -> str:
    """The words of a target as errors and reports show them: without secrets."""
    return ",".join(masked_line(word) for word in text.split(","))


def _words(text: str) -> Mapping[str, str]:
    pairs = (each.partition("=") for each in text.split(",") if each)
    return {name: value for name, _, value in pairs}
