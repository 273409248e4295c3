"""Reads each format back as its users do: what it says of each finding, in the order of the report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import fromstring

import yaml
from markdown_it import MarkdownIt

from analysis.report import Report, ReportEntry
from cli.report.reports import without_fix
from policies.judging.sentence import assertion, sentence
from policies.model.printing import plain

SEVERITIES = ("error", "warning", "info")


class Said(NamedTuple):
    """`place` is file:line:column, or file:line where the format has no columns."""

    severity: str
    rule: str
    place: str
    message: str


def _line(text: str) -> str:
    return " ".join(text.split())


def _said(severity: str, rule: str, place: str, message: str) -> Said:
    return Said(severity, rule, _line(place), _line(message))


def expected(report: Report, message: Callable[[ReportEntry], str], *, columns: bool = True) -> list[Said]:
    return [
        _said(
            entry.judged.severity.value,
            entry.judged.rule.id,
            plain(str(entry.place) if columns else f"{entry.place.file}:{entry.place.line}"),
            message(entry),
        )
        for entry in report.entries
    ]


def brief(entry: ReportEntry) -> str:
    """The finding without its fix."""
    return without_fix(entry.judged)


def full(entry: ReportEntry) -> str:
    return sentence(entry.judged)


def apart(entry: ReportEntry) -> str:
    """The sentence where the field has a column of its own."""
    return f"{plain(str(entry.judged.finding.object))}: {assertion(entry.judged)}"


def raw(entry: ReportEntry) -> str:
    """As the rule said it."""
    return entry.judged.finding.message


def unpaired(entry: ReportEntry) -> str:
    """The same with an escape for each half of a surrogate pair."""
    return raw(entry).encode(errors="backslashreplace").decode()


def of_text(text: str) -> list[Said]:
    found = (re.fullmatch(r"(.*?:\d+:\d+): (error|warning|info)\[([a-z-]+)\]: (.*)", line) for line in text.split("\n"))
    return [_said(match[2], match[3], match[1], match[4]) for match in found if match]


def of_table(text: str) -> list[Said]:
    lines = text.split("\n")
    if len(lines) < 2 or not lines[1].startswith("SEVERITY"):
        return []
    starts = [lines[1].index(head) for head in ("SEVERITY", "RULE", "OBJECT", "FIELD", "PLACE", "MESSAGE")]
    rows = [
        [line[start:end].strip(" ") for start, end in zip(starts, [*starts[1:], None], strict=True)]
        for line in lines[2:]
    ]
    return [_said(row[0], row[1], row[4], f"{row[2]}: {row[5]}") for row in rows if row[0] in SEVERITIES]


def of_json(text: str) -> list[Said]:
    return _of_fields(json.loads(text))


def of_yaml(text: str) -> list[Said]:
    return _of_fields(yaml.safe_load(text))


def _of_fields(answer: Mapping[str, list[dict[str, str]]]) -> list[Said]:
    return [
        _said(each["severity"], each["rule"], plain(f"{each['file']}:{each['line']}:{each['column']}"), each["message"])
        for each in answer["findings"]
    ]


def of_sarif(text: str) -> list[Said]:
    severities = {"error": "error", "warning": "warning", "note": "info"}
    found = []
    for result in json.loads(text)["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        file = unquote(place["artifactLocation"]["uri"], errors="surrogateescape")
        at = plain(f"{file}:{place['region']['startLine']}:{place['region']['startColumn']}")
        message = result["message"]["text"].split("\n")[0].replace("] (", "](")
        found.append(_said(severities[result["level"]], result["ruleId"], at, message))
    return found


def of_gitlab(text: str) -> list[Said]:
    severities = {"critical": "error", "minor": "warning", "info": "info"}
    return [
        _said(
            severities[issue["severity"]],
            issue["check_name"],
            f"{issue['location']['path']}:{issue['location']['lines']['begin']}",
            issue["description"],
        )
        for issue in json.loads(text)
        if issue["severity"] != "blocker"
    ]


def of_junit(text: str) -> list[Said]:
    found = []
    for case in fromstring(text).iter("testcase"):
        said = case.find("failure")
        said = case.find("system-out") if said is None else said
        first = "" if said is None or said.text is None else said.text.split("\n")[0]
        if match := re.fullmatch(r"(.*?:\d+:\d+): (error|warning|info): (.*)", first):
            found.append(_said(match[2], case.attrib["classname"], match[1], match[3]))
    return found


def of_tap(text: str) -> list[Said]:
    found = []
    for match in re.finditer(r"^(?:not )?ok \d+ - ([a-z-]+): [^\n]*\n  ---\n(.*?)\n  \.\.\.$", text, re.M | re.S):
        details = yaml.safe_load(match[2])
        if match[1] != "unreadable":
            found.append(_said(details["severity"], match[1], details["at"], details["message"]))
    return found


def of_github(text: str) -> list[Said]:
    severities = {"error": "error", "warning": "warning", "notice": "info"}
    command = re.compile(r"::(error|warning|notice) file=([^,:]*),line=(\d+),col=(\d+),title=([a-z-]+)::(.*)")
    found = []
    for match in filter(None, map(command.fullmatch, text.split("\n"))):
        if match[5] != "unreadable":
            place = f"{unquote(match[2])}:{match[3]}:{match[4]}"
            message = unquote(match[6]).split("\n")[0]
            found.append(_said(severities[match[1]], match[5], place, message))
    return found


class Cells(HTMLParser):
    """The texts of the cells of all tables, row by row, each up to its first line end; and all tags and attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._reading = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
            self._reading = True
        elif tag in ("br", "ul"):
            self._reading = False

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._reading = False

    def handle_data(self, data: str) -> None:
        if self._reading:
            self.rows[-1][-1] += data


def markdown_cells(text: str) -> Cells:
    return Cells(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def of_markdown(text: str) -> list[Said]:
    rows = markdown_cells(text).rows
    return [_said(row[0], row[1], row[2], row[3]) for row in rows if row and row[0] in SEVERITIES]


def of_html(text: str) -> list[Said]:
    return [_said(row[0], row[1], row[2], row[4]) for row in Cells(text).rows if row]


class Format(NamedTuple):
    read: Callable[[str], list[Said]]
    message: Callable[[ReportEntry], str]
    columns: bool = True


FORMATS = {
    "text": Format(of_text, brief),
    "table": Format(of_table, apart),
    "json": Format(of_json, raw),
    "yaml": Format(of_yaml, unpaired),
    "markdown": Format(of_markdown, brief),
    "github": Format(of_github, brief),
    "gitlab": Format(of_gitlab, full, columns=False),
    "sarif": Format(of_sarif, brief),
    "junit": Format(of_junit, brief),
    "tap": Format(of_tap, brief),
    "html": Format(of_html, brief),
}
