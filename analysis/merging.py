"""Merges the reports of several roots into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from analysis.report import Report, ReportEntry, Subject, in_order


def merged(reports: Sequence[Report]) -> Report:
    """All findings in order, without duplicates. The counts are sums."""
    first = reports[0]
    if len(reports) == 1:
        return first
    return replace(
        first,
        subject=_subject([each.subject for each in reports]),
        entries=in_order(_once(entry for each in reports for entry in each.entries)),
        not_evaluated=tuple({(it.rule.id, it.reason): it for each in reports for it in each.not_evaluated}.values()),
        unreadable=tuple(dict.fromkeys(item for each in reports for item in each.unreadable)),
    )


def with_entries(report: Report, more: Iterable[ReportEntry]) -> Report:
    return replace(report, entries=in_order([*report.entries, *more]))


def _once(entries: Iterable[ReportEntry]) -> list[ReportEntry]:
    """The entries without duplicates, since an object that several roots share is judged in each of them."""
    return list({(it.judged.rule.id, it.place, it.judged.finding.message): it for it in entries}.values())


def _subject(subjects: Sequence[Subject]) -> Subject:
    """The merged subject. A context that several reports share is counted once."""
    contexts = {each.against: each for each in subjects}
    named = next((each for each in contexts.values() if each.kind != "nothing"), subjects[0])
    return replace(
        named,
        against=" and ".join(contexts),
        name=named.name if len(contexts) == 1 else "",
        objects=sum(each.objects for each in subjects),
        queues=sum(each.queues for each in subjects),
        context_queues=sum(each.context_queues for each in contexts.values()),
        changed=sum(each.changed for each in subjects),
        deleted=sum(each.deleted for each in subjects),
        others=sum(each.others for each in subjects),
    )
