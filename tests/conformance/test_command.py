"""The command `rocketmq-conformance`: list, run, report, and its errors for wrong options."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from rocketmq_testkit.conformance import command
from rocketmq_testkit.conformance.command import main
from rocketmq_testkit.conformance.discovery import all_cases
from rocketmq_testkit.conformance.outcomes.recorded_outcomes import RecordedOutcomes
from rocketmq_testkit.fixtures import Emulator

SENT = "(send.a_message_is_stored and not grpc)"


def test_list_shows_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    """`list` prints each case on one line, with its protocol and sentence."""
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cases = all_cases()
    assert len([line for line in lines if " remoting " in line or " grpc " in line]) >= len(cases)
    assert any(line.startswith(cases[0].id) and cases[0].sentence in line for line in lines)


def test_page_junit_and_json_of_a_run_hold_the_same_outcomes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "-k", f"{SENT} or pop.a_popped_message_is_hidden", "--jobs", "2"]
    files = ["--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml"), "--report", str(tmp_path / "page")]
    assert main([*words, *files]) == 0
    assert "emulator: 2 same" in capsys.readouterr().out
    outcomes = json.loads((tmp_path / "r.json").read_text())["outcomes"]
    assert [each["verdict"] for each in outcomes] == ["same", "same"]
    suite = ET.parse(tmp_path / "r.xml").getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("emulator", "2", "0")
    page = (tmp_path / "page" / "index.html").read_text()
    assert "a popped message is hidden" in page
    assert "://" not in page.replace("http://www.w3.org", "")


def test_report_joins_the_findings_of_several_runs(tmp_path: Path) -> None:
    """`report` merges the outcomes of several runs; of several outcomes of a case it shows the last one."""
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    main(["run", "-k", SENT, "--json", str(first)])
    main(["run", "-k", "pop.a_popped_message_is_hidden", "--json", str(second)])
    content = json.loads(first.read_text())
    content["outcomes"][0].update(
        verdict="differs",
        expected=False,
        seen=[["sent", {"code": 29, "remark": "<b>"}]],
        recorded={"version": "5.3.3", "date": "2026-01-31", "seen": [["sent", {"code": 0}]]},
    )
    first.write_text(json.dumps(content))
    assert (
        main(["report", str(first), str(second), "--report", str(tmp_path / "page"), "--junit", str(tmp_path / "j")])
        == 0
    )
    page = (tmp_path / "page" / "index.html").read_text()
    assert "recorded from 5.3.3 on 2026-01-31" in page
    assert "&lt;b&gt;" in page
    assert "<b>&quot;" not in page
    failure = ET.parse(tmp_path / "j").getroot()[0].find("testcase/failure")
    assert failure is not None
    assert '- sent: {"code": 0}' in (failure.text or "")


def test_exit_code_is_1_for_unrecorded_and_differing_outcomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 1 for unrecorded and differing outcomes, and 0 after `--record`, which lists the changes."""
    monkeypatch.setattr(command, "RecordedOutcomes", lambda: RecordedOutcomes(tmp_path))
    words = ["run", "-k", SENT]
    assert main(words) == 1
    assert "1 unrecorded" in capsys.readouterr().out
    with Emulator(profile="faithful") as emulator:
        real = ["--target", f"namesrv={emulator.namesrv},endpoint={emulator.endpoint},version=5.3.3"]
        assert main([*words, *real, "--record"]) == 0
        assert "1 records changed\n  send.a_message_is_stored" in capsys.readouterr().out
        assert main([*words, *real, "--record"]) == 0
        assert "0 records changed" in capsys.readouterr().out
    assert main(words) == 0
    RecordedOutcomes(tmp_path).store("5.3.3", "send", {"a_message_is_stored": [("sent", {"code": 29})]}, "2026-01-31")
    assert main(words) == 1
    assert '- sent: {"code": 29}' in capsys.readouterr().out


def test_make_conformance_real_has_a_valid_command_line() -> None:
    """The command line of `make conformance-real` is valid, and all its targets can be recorded."""
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    [line] = re.findall(r"^conformance-real:.*\n\t\S*rocketmq-conformance (.*)", makefile, re.MULTILINE)
    [real] = re.findall(r"^REAL := (.*)", makefile, re.MULTILINE)
    options = command.parser().parse_args(line.replace("$(REAL)", real).split())
    assert options.record
    assert [each.recorded_version for each in command.targets_of(options)] == ["5.3.3", "5.5.0"]


@pytest.mark.parametrize(("words", "protocols"), [([], {"remoting", "grpc"}), (["--protocol", "grpc"], {"grpc"})])
def test_option_protocol_selects_the_cases_of_one_protocol(
    words: list[str], protocols: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", *words]) == 0
    assert {line.split()[1] for line in capsys.readouterr().out.splitlines()} == protocols | {"SDKs"}


def test_option_protocol_deselects_sdks_of_other_protocols(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    words = [
        "-k",
        "scenarios.topics.a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc",
        "--sdk",
        "python,cpp",
        "--protocol",
        "grpc",
    ]
    assert main(["run", *words, "--json", str(file)]) == 0
    assert [each["id"] for each in json.loads(file.read_text())["outcomes"]] == [
        "topics.a_send_creates_an_unknown_topic_over_remoting_and_fails_over_grpc@python"
    ]


def test_build_prints_the_folder_of_each_requested_driver(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--sdk", "python,go-remoting"]) == 0
    built = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    assert list(built) == ["python", "go-remoting"]
    assert all(Path(folder).is_dir() for folder in built.values())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["run", "-k", "no_such_case_at_all"], "-k 'no_such_case_at_all': no case or scenario matches"),
        (["list", "-k", "no_such_case_at_all"], "-k 'no_such_case_at_all': no case or scenario matches"),
        (
            ["run", "-k", SENT, "--report", "/dev/null/page"],
            "--report=/dev/null/page: index.html cannot be written there",
        ),
        (["run", "-k", SENT, "--json", "/dev/null/r.json"], "--json=/dev/null/r.json: cannot be written"),
        (["run", "-k", SENT, "--junit", "/dev/null/r.xml"], "--junit=/dev/null/r.xml: cannot be written"),
        (["run", "-k", SENT, "--record-expected", "/dev/null/e"], "--record-expected=/dev/null/e: cannot be written"),
        (
            ["report", "/nowhere.json", "--report", "/dev/null"],
            "--report=/dev/null: index.html cannot be written there",
        ),
        (
            ["run", "-k", SENT, "--expected", "/nowhere.json"],
            "--expected=/nowhere.json: cannot be read, No such file or directory",
        ),
        (["run", "-k", "("], "a part of a name is missing"),
        (["run", "--target", "emulater"], "--target=emulater: there is no such target; did you mean emulator?"),
        (["run", "--target", "namesrv=127.0.0.1:1,endpoint=127.0.0.1:1,wait=0"], "namesrv=127.0.0.1:1 cannot be"),
        (["run", "--target", "namesrv=127.0.0.1:65537,endpoint=127.0.0.1:1,wait=0"], "namesrv=127.0.0.1:65537 cannot"),
        (
            ["run", "--target", "namesrv=127.0.0.1:1,endpoint=127.0.0.1:1,wait=soon"],
            "wait=soon is not a number of seconds",
        ),
        (["run", "--target", "emulator", "--target", "emulator"], "--target=emulator: given 2 times"),
        (["run", "-k", SENT, "--record", "--target", "apache:5.3.3,flushDiskType=SYNC_FLUSH"], "flushDiskType=SYNC"),
        (["run", "-k", SENT, "--record", "--target", "namesrv=a:1,endpoint=b:2"], "add version=V"),
        (
            ["run", "-k", SENT, "--record", "--target", "emulator", "--target", "namesrv=a:1,endpoint=b:2"],
            "add version",
        ),
        (
            ["run", "-k", SENT, "--record", "--target", "namesrv=a:1,endpoint=b:2,control=http://c:3"],
            "only real brokers",
        ),
        (["run", "-k", SENT, "--record"], "only real brokers can be recorded"),
        (["run", "--sdk", "cobol"], "--sdk=cobol: there is no such SDK"),
        (["run", "-k", "scenarios.topics"], "scenarios need --sdk"),
        (
            ["report", "/nowhere.json", "--report", "/tmp/rocketmq-report"],
            "/nowhere.json: cannot be read, No such file or directory",
        ),
        (["build", "--sdk", "cobol"], "--sdk=cobol: there is no such SDK"),
    ],
)
def test_an_impossible_command_line_exits_with_2_and_one_sentence(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert said.startswith("rocketmq-conformance: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(("package", "module"), [("grpcio", "grpc"), ("Jinja2", "jinja2"), ("rich", "rich")])
def test_without_the_extra_conformance_the_command_names_it(package: str, module: str) -> None:
    """Without a package of the extra `conformance`, the command exits with one sentence that names the extra."""
    program = f"import sys; sys.modules[{module!r}] = None; from rocketmq_testkit.conformance.command import main; "
    done = subprocess.run(
        [sys.executable, "-c", program + "sys.exit(main(['list']))"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"rocketmq-conformance: {package} is not installed; it comes with the extra `conformance`: "
        "pip install '/path/to/rocketmq-testkit[conformance]'\n"
    )


def test_an_unwritable_path_is_reported_before_any_case_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first option with an unwritable path is reported before any case runs, and no empty file remains."""
    words = ["run", "-k", SENT, "--json", str(tmp_path / "r.json"), "--report", "/dev/null/page"]

    assert main(words) == 2

    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == []


def test_recorded_deviations_of_a_broker_are_accepted_by_option_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--record-expected` records deviations of a broker with a reason; `--expected` then accepts exactly these."""
    file = tmp_path / "expected.json"
    with Emulator(profile="faithful", config={"autoCreateTopicEnable": "false"}) as emulator:
        target = ["--target", f"namesrv={emulator.namesrv},endpoint={emulator.endpoint},version=5.3.3"]
        words = [
            "run",
            "-k",
            f"auto_create.a_send_requesting_no_queues_is_refused_but_creates_the_topic or {SENT}",
            *target,
        ]
        assert main(words) == 1
        assert "autoCreateTopicEnable=false (recorded with true): the likely cause" in capsys.readouterr().out
        assert main([*words, "--record-expected", str(file)]) == 0
        assert "1 deviations; state the cause of each in its `reason`" in capsys.readouterr().out
        content = json.loads(file.read_text())
        [entry] = content.values()
        entry["reason"] = "topics are made by hand here"
        file.write_text(json.dumps(content))

        assert main([*words, "--expected", str(file)]) == 0
        assert "1 same, 1 deliberate" in capsys.readouterr().out
        assert main([*words, "--expected", str(file), "--record-expected", str(file)]) == 0
        assert json.loads(file.read_text()) == content
        entry["seen"][0][1] = "otherwise"
        file.write_text(json.dumps(content))
        assert main([*words, "--expected", str(file)]) == 1


@pytest.mark.parametrize(
    "words", [["run", "--jobs", "0"], ["run", "--jobs", "many"], ["run", "--protocol", "amqp"], []]
)
def test_invalid_options_exit_with_2_and_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Invalid options return exit code 2 and print one line, without the usage."""
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1
