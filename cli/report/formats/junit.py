"""JUnit's XML, in the form that Jenkins publishes a schema for. A finding that fails the run is a failed test case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from analysis.report import Report
from cli.report.as_text import closing_line, head_line
from cli.report.formats.checks import CaseState, ReportedCase, of_report, of_suites
from cli.report.suites.suite_outcomes import SuiteOutcome
from cli.report.suites.suite_text import closing_line as suites_closing_line


def render(report: Report) -> str:
    return _document("quotree validate", of_report(report), [head_line(report), closing_line(report)])


def render_suites(outcomes: Sequence[SuiteOutcome]) -> str:
    return _document("quotree test", of_suites(outcomes), [suites_closing_line(outcomes)])


def _document(name: str, checks: Sequence[ReportedCase], lines: Sequence[str]) -> str:
    counts = Counter(check.state for check in checks)
    root = Element("testsuites")
    suite = SubElement(
        root,
        "testsuite",
        name=name,
        tests=str(len(checks)),
        failures=str(counts[CaseState.FAILED]),
        errors=str(counts[CaseState.BROKEN]),
        skipped=str(counts[CaseState.SKIPPED]),
    )
    for check in checks:
        _case(suite, check)
    SubElement(suite, "system-out").text = "\n".join(lines)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def _case(suite: Element, check: ReportedCase) -> None:
    case = SubElement(suite, "testcase", classname=check.group, name=check.name)
    text = "\n".join([f"{check.place}: {check.severity}: {check.message}", *check.details])
    if check.state is CaseState.FAILED:
        SubElement(case, "failure", type=check.severity, message=check.message).text = text
    elif check.state is CaseState.BROKEN:
        SubElement(case, "error", type=check.severity, message=check.message).text = text
    elif check.state is CaseState.SKIPPED:
        SubElement(case, "skipped", message=check.message)
    elif check.message:
        SubElement(case, "system-out").text = text
