"""The examples, judged without a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analysis.context import Context
from analysis.inputs import InputObjects
from analysis.judgement import judge
from analysis.report import Report, report
from cli.input.against import Against
from cli.input.context import load
from cli.input.documents import gather, read
from cli.input.settings import FILES, settings
from cli.report.reports import as_text, finding_lines
from cluster.served import FOLLOWED
from policies.configuration.settings import Configuration
from policies.judging.sentence import sentence
from policies.model.findings import Severity


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expect.yaml of an example. `verb`: apply, delete, or status if only the status is written."""

    about: str
    verb: str
    rules: frozenset[str]
    says: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path) -> Expectation:
        (document,), _ = read([str(folder / "expect.yaml")])
        spec = document.manifest["spec"]
        return cls(spec["about"], spec["verb"], frozenset(spec["rules"]), tuple(spec.get("says", ())))

    def unsaid(self, found: Report) -> list[str]:
        """The texts in `says` that no finding of the rules contains."""
        said = [sentence(entry.judged) for entry in found.entries if entry.judged.rule.id in self.rules]
        return [piece for piece in self.says if not any(piece in text for text in said)]


def accepted(examples: Path) -> list[str]:
    """Judge the accepted organisation; returns what is not as expected."""
    context = load(Against())
    inputs = gather([str(examples / "accepted")])
    found = _judged(inputs, Context(context.against, context.world.knowing(FOLLOWED)), configuration(examples))
    print(as_text(found), "\n", sep="")
    return [f"accepted: {rule}" for rule in sorted(_rules(found, Severity.ERROR))]


def refused(examples: Path) -> list[str]:
    """Judge each change to that organisation that is refused; returns what is not as expected.

    Rules about the user who sends the change are not evaluated here, since no file names one; in a cluster they are.
    """
    surprises = []
    for name, expected, found in _changes(examples, "refused"):
        errors, left_out = _rules(found, Severity.ERROR), {missed.rule.id for missed in found.not_evaluated}
        if not expected.rules <= errors | left_out:
            surprises.append(f"{name}: expected {_list(expected.rules)}, found {_list(errors)}")
        surprises += [f"{name}: does not say {piece!r}" for piece in expected.unsaid(found)]
    return surprises


def warned(examples: Path) -> list[str]:
    """Judge each change that passes with a warning; returns what is not as expected."""
    surprises = []
    for name, expected, found in _changes(examples, "warned"):
        errors, warnings = _rules(found, Severity.ERROR), _rules(found, Severity.WARNING)
        if errors or not expected.rules <= warnings:
            wanted = f"expected warnings of {_list(expected.rules)} alone"
            surprises.append(f"{name}: {wanted}, found {_list(errors | warnings)}")
        surprises += [f"{name}: does not say {piece!r}" for piece in expected.unsaid(found)]
    return surprises


def configuration(examples: Path) -> Configuration:
    """The organisation's configuration, as `quotree validate` finds it for the paths below."""
    file = examples / FILES[0]
    return settings(str(file), ()) if file.is_file() else Configuration()


def _changes(examples: Path, kind: str) -> Iterator[tuple[str, Expectation, Report]]:
    """Judge and print each example of the kind."""
    context = load(Against("files", str(examples / "accepted")))
    world = Context(context.against, context.world.knowing(FOLLOWED))
    for folder in sorted(path for path in (examples / kind).iterdir() if path.is_dir()):
        expected = Expectation.of(folder)
        found = _judged(gather([str(folder)]), world, configuration(examples), delete=expected.verb == "delete")
        print(f"{kind}/{folder.name}: {expected.about}")
        for entry in found.entries:
            print(*(f"    {line}" for line in finding_lines(entry)), sep="\n")
        for missed in found.not_evaluated:
            print(f"    not evaluated[{missed.rule.id}]: {missed.reason}")
        yield f"{kind}/{folder.name}", expected, found


def _judged(inputs: InputObjects, context: Context, configuration: Configuration, delete: bool = False) -> Report:
    return report(inputs, context, judge(inputs, context, configuration, delete=delete))


def _rules(found: Report, severity: Severity) -> set[str]:
    return {entry.judged.rule.id for entry in found.entries if entry.judged.severity is severity}


def _list(rules: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(rules)) or "nothing"
