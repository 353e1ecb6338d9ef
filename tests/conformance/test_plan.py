"""Selection of cases by the command line, and names of targets."""

from pathlib import Path

import pytest
from rocketmq_testkit.conformance.deployment.target import Capability, TargetError
from rocketmq_testkit.conformance.runner.plan import SelectionError, matcher
from rocketmq_testkit.conformance.targets.address import AddressTarget
from rocketmq_testkit.conformance.targets.apache_target import ApacheTarget
from rocketmq_testkit.conformance.targets.emulator import EmulatorTarget
from rocketmq_testkit.conformance.targets.target_option import parse_target


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("", {"send.one", "send.batch", "pop.one"}),
        ("send", {"send.one", "send.batch"}),
        ("SEND and not batch", {"send.one"}),
        ("pop or batch", {"pop.one", "send.batch"}),
        ("not (pop or batch)", {"send.one"}),
        ("send and one or pop", {"send.one", "pop.one"}),
        ("nothing", set()),
    ],
)
def test_words_of_an_expression_match_parts_of_case_ids(expression: str, matching: set[str]) -> None:
    """Words of an expression match parts of ids; `or` binds weakest, `not` strongest."""
    wanted = matcher(expression)
    assert {id_ for id_ in ("send.one", "send.batch", "pop.one") if wanted(id_)} == matching


@pytest.mark.parametrize("expression", ["and", "send and", "not", "(send", "send)", "send batch", "()"])
def test_a_malformed_expression_is_refused(expression: str) -> None:
    """A malformed expression is rejected by an error that shows the option."""
    with pytest.raises(SelectionError, match="-k"):
        matcher(expression)


def test_each_form_of_a_target_has_its_kind_version_and_capabilities() -> None:
    """Each of the three forms of a target determines its kind, version and capabilities."""
    assert isinstance(parse_target("emulator"), EmulatorTarget)
    real = parse_target("apache:5.5.0,enablePopLog=true,popPollingSize=7")
    assert isinstance(real, ApacheTarget)
    assert (real.name, real.recorded_version) == ("apache:5.5.0,enablePopLog=true,popPollingSize=7", "5.5.0")
    assert parse_target("apache:5.5.0").name == "apache:5.5.0"
    own = parse_target("namesrv=10.0.0.1:9876,endpoint=mq.example:8081")
    assert isinstance(own, AddressTarget)
    assert (own.recorded_version, own.capabilities) == ("5.3.3", frozenset({Capability.ADMIN}))
    assert parse_target("namesrv=a:1,endpoint=b:2,read_only,version=5.5.0").capabilities == frozenset()


def test_a_target_may_have_credentials_and_a_trusted_authority(tmp_path: Path) -> None:
    """A target may have credentials for signatures and a trusted authority."""
    ca = tmp_path / "ca.pem"
    ca.write_text("")
    words = f"namesrv=a:1,endpoint=b:2,ca={ca},access_key=k,secret_key=s,token=t"
    with parse_target(words).lend({}) as place:
        assert place.access.tls is not None
        assert place.access.tls.ca == ca
        assert place.access.credentials is not None
        assert place.access.credentials.security_token == "t"
    with parse_target("namesrv=a:1,endpoint=b:2,tls").lend({}) as place:
        assert place.access.tls is not None
        assert place.access.tls.ca is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("emulater", "--target=emulater: there is no such target; did you mean emulator"),
        ("apache:newest", "newest is not a version; .*; use --target apache:5.3.3"),
        ("apache:4.9.7", "4.9.7 has no gRPC proxy; cases need the gRPC proxy, which versions have from 5.0.0 on"),
        ("apache:5.3.3,popPollingSize", "popPollingSize is not a setting; .* KEY=VALUE"),
        ("apache:5.3.3,=7", "=7 is not a setting; .* KEY=VALUE"),
        ("namesrv=a:1,endpoint=b:2,version=newest", "newest is not a version; .*; use version=5.3.3"),
        (
            "namesrv=a:1,endpoint=b:2,control=127.0.0.1:8090",
            "control=127.0.0.1:8090 is not a URL; .*; use control=http",
        ),
        ("namesrv=a:1", "endpoint is missing; .*; use endpoint=127.0.0.1:8081"),
        ("namesrv=a,endpoint=b:2", "namesrv=a is not HOST:PORT; .*; use namesrv=127.0.0.1:9876"),
        ("namesrv=a:1,endpoint=b:2,colour=red", "there is no option colour of a target"),
        ("namesrv=a:1,endpoint=b:2,access_key=k", "access_key without secret_key; they belong together"),
        ("namesrv=a:1,endpoint=b:2,ca=/nowhere.pem", "there is no file /nowhere.pem"),
    ],
)
def test_an_invalid_target_is_refused_with_the_valid_form(text: str, problem: str) -> None:
    """An invalid target is rejected by a sentence with the valid form."""
    with pytest.raises(TargetError, match=problem):
        parse_target(text)


def test_a_target_given_by_addresses_cannot_be_configured() -> None:
    with (
        pytest.raises(TargetError, match="cannot configure this broker"),
        parse_target("namesrv=a:1,endpoint=b:2").lend({"k": "v"}),
    ):
        pass
