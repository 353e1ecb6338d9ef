"""Values of the option `--target`."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from rocketmq_testkit.emulator.kernel.masking import masked_line
from rocketmq_testkit.emulator.kernel.nearest_name import nearest_of
from rocketmq_testkit.remoting.client import Credentials

from ..deployment.target import REFERENCE_VERSION, Access, Target, TargetError, Tls
from .address import WAIT_SECONDS, AddressTarget
from .apache import has_proxy
from .apache_target import ApacheTarget
from .control import ControlledTarget
from .emulator import EmulatorTarget

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
_REFERENCE = f"use --target apache:{REFERENCE_VERSION}"
_URL = re.compile(r"^https?://[^/\s]+/?$")


def parse_target(text: str, defects: Collection[str] = ()) -> Target:
    """Parse the value of one `--target`. Raises TargetError that shows the accepted forms.

    `defects`: upstream's defects that the emulator has.
    """
    name, _, rest = text.partition(",")
    if text == "emulator":
        return EmulatorTarget(defects)
    if name.startswith("apache:"):
        version = name.removeprefix("apache:")
        if not _VERSION.match(version):
            wrong = f"{version or 'nothing'} is not a version"
            raise _refused(text, wrong, "a version is three numbers, as Apache publishes it", _REFERENCE)
        if not has_proxy(version):
            allowed = "cases need the gRPC proxy, which versions have from 5.0.0 on"
            raise _refused(text, f"{version} has no gRPC proxy", allowed, _REFERENCE)
        return ApacheTarget(version, _settings(text, rest))
    if "namesrv=" in text:
        return _address(text)
    near = nearest_of(text, ("emulator", f"apache:{REFERENCE_VERSION}"))
    allowed = f"did you mean {near}?" if near else f"a target is {FORMS}"
    raise _refused(text, "there is no such target", allowed, f"use --target {near or 'emulator'}")


def _address(text: str) -> Target:
    words = _words(text)
    unknown = sorted(set(words) - _ADDRESS_WORDS)
    if unknown:
        near = nearest_of(unknown[0], _ADDRESS_WORDS)
        allowed = f"did you mean {near}?" if near else f"there are {', '.join(sorted(_ADDRESS_WORDS))}"
        raise _refused(
            text, f"there is no option {unknown[0]} of a target", allowed, f"use {near}" if near else "leave it out"
        )
    for name, port in (("namesrv", 9876), ("endpoint", 8081)):
        if not _HOST_PORT.match(words.get(name, "")):
            wrong = f"{name}={words[name]} is not HOST:PORT" if name in words else f"{name} is missing"
            raise _refused(text, wrong, "a broker is reached by namesrv and endpoint", f"use {name}=127.0.0.1:{port}")
    credentials = None
    if "access_key" in words or "secret_key" in words:
        if not words.get("access_key") or not words.get("secret_key"):
            given, missing = ("access_key", "secret_key") if words.get("access_key") else ("secret_key", "access_key")
            raise _refused(text, f"{given} without {missing}", "they belong together", f"give {missing}, too")
        credentials = Credentials(words["access_key"], words["secret_key"], words.get("token"))
    tls = None
    if "tls" in words or "ca" in words:
        ca = Path(words["ca"]) if words.get("ca") else None
        if ca is not None and not ca.is_file():
            raise _refused(text, f"there is no file {ca}", "ca is an existing PEM file", "check the path")
        tls = Tls(ca)
    access = Access(words["namesrv"], words["endpoint"], tls, credentials)
    version = words.get("version")
    if version is not None and not _VERSION.match(version):
        allowed = "a version is three numbers, as Apache publishes it"
        raise _refused(text, f"{version or 'nothing'} is not a version", allowed, f"use version={REFERENCE_VERSION}")
    wait = words.get("wait", f"{WAIT_SECONDS:g}")
    if not wait.isascii() or not wait.isdigit():
        wrong, allowed = f"wait={wait} is not a number of seconds", "wait is a whole number, and 0 does not wait"
        raise _refused(text, wrong, allowed, f"use wait={WAIT_SECONDS:g}")
    admin = "read_only" not in words
    addresses = AddressTarget(_shown(text), access, version=version, admin=admin, wait_seconds=int(wait))
    if "control" not in words:
        return addresses
    if not _URL.match(words["control"]):
        wrong = f"control={words['control']} is not a URL"
        raise _refused(text, wrong, "the control port has one", "use control=http://127.0.0.1:8090")
    return ControlledTarget(addresses, words["control"], words.get("control_token"))


def _settings(text: str, rest: str) -> Mapping[str, str]:
    for each in filter(None, rest.split(",")):
        if not _SETTING.match(each):
            allowed = "keys of broker.conf are given as KEY=VALUE"
            raise _refused(text, f"{each} is not a setting", allowed, f"{_REFERENCE},popPollingSize=5")
    return _words(rest)


def _refused(text: str, wrong: str, allowed: str, remedy: str) -> TargetError:
    return TargetError(f"--target={_shown(text)}: {wrong}; {allowed}; {remedy}")


def _shown(text: str) -> str:
    """Return the text of a target without secrets, for errors and reports."""
    return ",".join(masked_line(word) for word in text.split(","))


def _words(text: str) -> Mapping[str, str]:
    pairs = (each.partition("=") for each in text.split(",") if each)
    return {name: value for name, _, value in pairs}
