"""The examples judged without any server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cli.context import Against, Context, load
from cli.documents import read
from cli.given import Given, gather
from cli.judgement import judge
from cli.report.as_text import as_text, finding_lines
from cli.report.model import Report, report
from cluster.store import FOLLOWED
from policies.configuration import Configuration
from policies.rule import Severity


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an example's expect.yaml says; `verb` is apply or delete."""

    about: str
    verb: str
    rules: frozenset[str]

    @classmethod
    def of(cls, folder: Path) -> Expectation:
        (document,), _ = read([str(folder / "expect.yaml")])
        spec = document.manifest["spec"]
        return cls(spec["about"], spec["verb"], frozenset(spec["rules"]))


def accepted(examples: Path) -> list[str]:
    """Judge the accepted organisation; returns what is not as expected."""
    context = load(Against(), None)
    given = gather([str(examples / "accepted")])
    found = _judged(given, Context(context.against, context.world.knowing(FOLLOWED)), delete=False)
    print(as_text(found), "\n", sep="")
    return [f"accepted: {entry.judged.rule.id}" for entry in found.entries if _is_error(entry.judged.severity)]


def refused(examples: Path) -> list[str]:
    """Judge each refused change to that organisation; returns what is not as expected."""
    context = load(Against("files", str(examples / "accepted")), None)
    world = Context(context.against, context.world.knowing(FOLLOWED))
    surprises = []
    for folder in sorted(path for path in (examples / "refused").iterdir() if path.is_dir()):
        expected = Expectation.of(folder)
        found = _judged(gather([str(folder)]), world, delete=expected.verb == "delete")
        print(f"refused/{folder.name}: {expected.about}")
        for entry in found.entries:
            print(*(f"    {line}" for line in finding_lines(entry)), sep="\n")
        rules = {entry.judged.rule.id for entry in found.entries if _is_error(entry.judged.severity)}
        if not expected.rules <= rules:
            surprises.append(f"refused/{folder.name}: expected {_list(expected.rules)}, found {_list(rules)}")
    return surprises


def _judged(given: Given, context: Context, delete: bool) -> Report:
    return report(given, context, judge(given, context, Configuration(), delete=delete))


def _is_error(severity: Severity) -> bool:
    return severity is Severity.ERROR


def _list(rules: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(rules)) or "nothing"
