"""JUnit's XML, in the form that Jenkins publishes a schema for. A finding that fails the run is a failed test case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cli.report.as_text import closing_line, head_line
from cli.report.formats.checks import Check, State, of_report, of_suites
from cli.report.model import Report
from cli.report.suites.suite_outcomes import Outcome
from cli.report.suites.suite_text import closing_line as suites_closing_line


def render(report: Report) -> str:
    return _document("quotree validate", of_report(report), [head_line(report), closing_line(report)])


def render_suites(outcomes: Sequence[Outcome]) -> str:
    return _document("quotree test", of_suites(outcomes), [suites_closing_line(outcomes)])


def _document(name: str, checks: Sequence[Check], lines: Sequence[str]) -> str:
    counts = Counter(check.state for check in checks)
    root = Element("testsuites")
    suite = SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(checks)),
        failures=str(counts[State.FAILED]),
        errors=str(counts[State.BROKEN]),
        skipped=str(counts[State.SKIPPED]),
    )
    for check in checks:
        _case(suite, check)
    SubElement(suite, "system-out").text = "\n".join(lines)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def _case(suite: Element, check: Check) -> None:
    case = SubElement(suite, "testcase", classname=check.group, name=check.name)
    text = "\n".join([f"{check.place}: {check.severity}: {check.message}", *check.details])
    if check.state is State.FAILED:
        SubElement(case, "failure", type=check.severity, message=check.message).text = text
    elif check.state is State.BROKEN:
        SubElement(case, "error", type=check.severity, message=check.message).text = text
    elif check.state is State.SKIPPED:
        SubElement(case, "skipped", message=check.message)
    elif check.message:
        SubElement(case, "system-out").text = text
