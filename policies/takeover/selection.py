"""Whether our webhooks leave out the namespaces whose jobs Kueue does not manage.

Kueue's webhooks read `managedJobsNamespaceSelector` themselves. Ours read it in Quotree's own Configuration, or leave
it to the API server, by the namespaceSelector of a webhook: a job that was suspended in another namespace would wait
there indefinitely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from policies.configuration.kueue.namespaces import SELECTOR
from policies.configuration.settings import KueueSettings
from policies.dialects.reading import listing, mapping, text
from policies.dialects.selectors import read_label_selector
from policies.takeover.objects import FoundCluster, ReleaseNames

Term: TypeAlias = tuple[str, str, tuple[str, ...]]
"""Key, operator and values of one requirement."""
_OF_JOBS = {
    "MutatingWebhookConfiguration": frozenset(
        ("kueue-jobs", "kueue-other-jobs", "kueue-templates", "kueue-pods", "kueue-default-pods")
    ),
    "ValidatingWebhookConfiguration": frozenset(("kueue-jobs",)),
}


def asked_elsewhere(
    found: FoundCluster, names: ReleaseNames, settings: KueueSettings, selector: Mapping[str, Any]
) -> Iterator[str]:
    """A message for each webhook that lacks a requirement of Kueue's selector, if the settings lack it, too."""
    if settings.namespaces == read_label_selector(selector):
        return
    system = {"kube-system", names.kueue_namespace}
    wanted = [term for term in _terms(selector) if not (term[1] == "NotIn" and system.issuperset(term[2]))]
    for ref in (names.mutating, names.validating):
        for hook in map(mapping, listing(found.objects[ref].get("webhooks"))):
            name = text(hook.get("name")) or ""
            if name.removesuffix(".quotree.dev") not in _OF_JOBS[ref.kind]:
                continue
            present = set(_terms(mapping(hook.get("namespaceSelector"))))
            if missing := [_shown(term) for term in wanted if term not in present]:
                lacks = ", ".join(missing)
                yield (
                    f"{ref}: {name} is asked where {SELECTOR} manages no job: add {lacks} to its namespaceSelector,"
                    f" or kueue.{SELECTOR} to {names.settings}"
                )


def _terms(selector: Mapping[str, Any]) -> Iterator[Term]:
    """Each value that a label must not have is a requirement of its own."""
    for key, value in mapping(selector.get("matchLabels")).items():
        yield key, "In", (str(value),)
    for entry in map(mapping, listing(selector.get("matchExpressions"))):
        key, operator = text(entry.get("key")) or "", text(entry.get("operator")) or ""
        values = tuple(sorted(str(value) for value in listing(entry.get("values"))))
        if operator == "NotIn":
            yield from ((key, operator, (value,)) for value in values)
        else:
            yield key, operator, values


def _shown(term: Term) -> str:
    key, operator, values = term
    return f"{key} {operator} ({', '.join(values)})" if values else f"{key} {operator}"
