"""Renders JUnit XML according to the schema of Jenkins. A finding that fails the run is a failed test case."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cli.report.formats.checks import CaseState, CheckedRun, ReportedCase


def render(run: CheckedRun) -> str:
    counts = Counter(check.state for check in run.cases)
    root = Element("testsuites")
    suite = SubElement(
        root,
        "testsuite",
        name=run.command,
        tests=str(len(run.cases)),
        failures=str(counts[CaseState.FAILED]),
        errors=str(counts[CaseState.BROKEN]),
        skipped=str(counts[CaseState.SKIPPED]),
    )
    for check in run.cases:
        _case(suite, check)
    SubElement(suite, "system-out").text = "\n".join(run.lines)
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
