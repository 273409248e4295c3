"""Reports for the tests of formats: one that a person can read, and random ones with hostile texts."""

from __future__ import annotations

import random
import re
import sys

from analysis.documents import SourcePlace, Unreadable
from analysis.report import LocatedCause, Report, ReportedObject, ReportEntry, Subject
from policies.judging.rule import Rule
from policies.judging.verdict import Judged, Unjudged
from policies.model.findings import Cause, Finding, Severity
from policies.model.objects import Ref
from policies.rules import registry

RULES = registry()
SUBJECT = Subject("the files in trees", "files", "trees", objects=3, queues=2, context_queues=4, profile="strict")
HOSTILE = (
    *("::error::x", "%0A", "\n::warning::y", "]]>", "<!--", "--><script>alert(1)</script>", "' onload='x", '"', "&lt;"),
    *("|", "\\|", "`", "``", "@team", "[a](b)", "![a](b)", "{0}", "# SKIP", "# TODO", "*", "__", "~~", "- "),
    *("\u202e", "\x1b[2J", "\x00", "\udcff", "\ufffe", "\x85", "\u2028", "\r\n", "  ", "größe", "→"),
    *("https://a.b", "www.a.b", ":100:", "$x$", "#1", "GH-1", "_", "1e3", "yes", ",", ":", "="),
)

_NO_FILE_NAME = re.compile("[/\0\ud800-\udc7f\udd00-\udfff]")
"""Python has U+DC80 to U+DCFF for bytes of a name that are not UTF-8, and no other half of a pair."""


def random_report(seed: int) -> Report:
    """The same for the same seed."""
    return _Draw(seed).report()


class _Draw:
    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def report(self) -> Report:
        entries = sorted((self.entry() for _ in range(self._random.randrange(8))), key=lambda entry: entry.judged.rank)
        missed = tuple(Unjudged(self.rule(), self.text()) for _ in range(self._random.randrange(3)))
        unreadable = tuple(Unreadable(self.place(), self.text()) for _ in range(self._random.randrange(3)))
        failing = frozenset({Severity.ERROR}) if self._random.random() < 0.8 else frozenset[Severity]()
        return Report(SUBJECT, tuple(entries), missed, unreadable, failing)

    def entry(self) -> ReportEntry:
        ref = self.ref()
        causes = tuple(Cause(self.ref(), self.text(), self.text()) for _ in range(self._random.randrange(3)))
        finding = Finding(ref, self.text(), self.text(), self._random.choice(["", self.text()]), causes=causes)
        judged = Judged(self.rule(), self._random.choice(list(Severity)), finding, self._random.random() < 0.2)
        places = [self._random.choice([None, self.place()]) for _ in causes]
        located = (LocatedCause(each, identity(each.object), at) for each, at in zip(causes, places, strict=True))
        return ReportEntry(judged, identity(ref), self.place(), tuple(located))

    def ref(self) -> Ref:
        return Ref("kueue.x-k8s.io", "Queue", self._random.choice(["", self.text()]), self.text())

    def rule(self) -> Rule:
        return self._random.choice(sorted(RULES.values(), key=lambda rule: rule.id))

    def place(self) -> SourcePlace:
        file = _NO_FILE_NAME.sub("", self.text())
        return SourcePlace(f"trees/{file}", self._random.randint(1, 10**6), self._random.randint(1, 200))

    def text(self) -> str:
        """Not blank; often with what means something in one of the formats."""
        pieces = self._random.choices(HOSTILE, k=self._random.randint(1, 4))
        pieces += map(chr, self._random.choices(range(sys.maxunicode + 1), k=self._random.randrange(3)))
        self._random.shuffle(pieces)
        return "".join([*pieces, "x"])


def identity(ref: Ref) -> ReportedObject:
    return ReportedObject(f"{ref.group}/v1".lstrip("/"), ref.kind, ref.namespace, ref.name)


def entry(number: int, severity: Severity = Severity.ERROR, rule: str = "parent-missing") -> ReportEntry:
    """The one of this number, in a line of its own."""
    ref = Ref("scheduling.volcano.sh", "Queue", "", f"q{number}")
    finding = Finding(ref, "spec.parent", "parent eng does not exist", fix="create queue eng first")
    return ReportEntry(
        Judged(RULES[rule], severity, finding), identity(ref), SourcePlace("trees/a.yaml", number, 3), ()
    )


def many(count: int, severity: Severity = Severity.ERROR) -> Report:
    return Report(SUBJECT, tuple(entry(number, severity) for number in range(1, count + 1)), (), ())


def example() -> Report:
    """An error with a cause, a warning, an information, a rule without its facts, and a file that cannot be read."""
    ml, eng = Ref("scheduling.volcano.sh", "Queue", "", "ml"), Ref("scheduling.volcano.sh", "Queue", "", "eng")
    finding = Finding(
        eng,
        "spec.deserved.cpu",
        "its children deserve cpu=5 (ml 5), but eng holds 4",
        fix="lower ml to 4 or less, or raise eng to 5",
        subject="cpu",
        causes=(Cause(ml, "spec.deserved.cpu", "cpu=5"),),
    )
    cause = LocatedCause(finding.causes[0], identity(ml), SourcePlace("trees/ml.yaml", 10, 37))
    judged = Judged(RULES["children-deserved-exceed-parent"], Severity.ERROR, finding)
    first = ReportEntry(judged, identity(eng), SourcePlace("trees/eng.yaml", 5, 19), (cause,))
    others = (entry(2, Severity.WARNING), entry(3, Severity.INFO, "parent-cycle"))
    missed = Unjudged(RULES["parent-with-workloads"], "no PodGroup or Job objects are known")
    unreadable = Unreadable(SourcePlace("trees/b.yaml", 2, 1), "not YAML: did not find expected node content")
    return Report(SUBJECT, (first, *others), (missed,), (unreadable,))
