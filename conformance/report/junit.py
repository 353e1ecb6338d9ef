"""The outcomes as a JUnit file: one suite for each target, one test case for each case or scenario."""

from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from ..outcomes.recorded_outcomes import differences
from .document import Document, entry_id

_NOT_IN_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32)], "\N{REPLACEMENT CHARACTER}")


def write(path: Path, content: Document) -> None:
    """Write the outcomes; unexpected ones are failures, not applicable ones are skipped."""
    root = Element("testsuites")
    for target in content["targets"]:
        outcomes = [each for each in content["outcomes"] if each["target"] == target["name"]]
        suite = SubElement(
            root,
            "testsuite",
            name=target["name"],
            tests=str(len(outcomes)),
            failures=str(sum(not each["expected"] for each in outcomes)),
            skipped=str(sum(each["verdict"] == "not applicable" for each in outcomes)),
            time=f"{sum(each['seconds'] for each in outcomes):.3f}",
        )
        for each in outcomes:
            entry = content["entries"].get(entry_id(each["id"]), {})
            name = each["id"].partition(".")[2] or each["id"]
            noun = f"{target['name']}.{entry.get('noun', '')}"
            case = SubElement(suite, "testcase", classname=noun, name=name, time=f"{each['seconds']:.3f}")
            if each["verdict"] == "not applicable":
                SubElement(case, "skipped", message=each["reason"])
            elif not each["expected"]:
                failure = SubElement(case, "failure", message=each["verdict"], type=each["verdict"])
                lines = [each["reason"], *differences(each.get("recorded", {}).get("seen", []), each.get("seen", []))]
                failure.text = "\n".join(filter(None, lines)).translate(_NOT_IN_XML)
    indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
