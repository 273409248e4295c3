"""The rule about an object that occurs twice in one organisation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from analysis.inputs import Repeated
from analysis.report import LocatedCause, ReportEntry, identity
from policies.judging.rule import Proposal, Rule
from policies.judging.verdict import Judged
from policies.model.findings import Action, Cause, Finding, Severity
from policies.model.objects import Ref


def _page(_: Proposal) -> Iterator[Finding]:
    """An object is given twice in one organisation.

    Why it is refused: the object that is applied last takes effect, and the files do not show which one that is. The
    first one that is read is judged. If both have the same content, it is a remark, or is not reported if both existed
    before the change. If they differ, but existed before the change, it is a warning.
    Fix: keep one of the two. If they belong to two organisations, judge these apart with --each.
    """
    return iter(())


GIVEN_TWICE = Rule("given-twice", "Quotree", frozenset(), Action.DENY, _page)
"""Not in the registry: only files can have an object twice."""


def of_repeated(repeated: Iterable[Repeated], proposal: Proposal, before: Collection[Ref]) -> Iterator[ReportEntry]:
    """Yield an error if the two objects differ, a remark if they are equal.

    before: the objects that occurred twice before the change. Then different ones are a warning, and equal ones are not
    reported.
    """
    for each in repeated:
        ref, first = each.second.obj.ref, each.first.place()
        if each.equal and ref in before:
            continue
        severity = Severity.INFO if each.equal else Severity.WARNING if ref in before else Severity.ERROR
        message = "is given twice, with the same content" if each.equal else "is given twice, with other content"
        cause = Cause(ref, "", "is given here first, which is judged")
        finding = Finding(ref, "", message, "keep one of the two", causes=(cause,))
        named = identity(ref, proposal)
        yield ReportEntry(
            Judged(GIVEN_TWICE, severity, finding, preexisting=ref in before),
            named,
            each.second.place(),
            (LocatedCause(cause, named, first),),
        )
