"""Checks that Quotree's webhooks leave out the namespaces whose jobs Kueue does not manage.

Kueue's webhooks read `managedJobsNamespaceSelector` from Kueue's Configuration. For Quotree's webhooks, the selector
must be in Quotree's own Configuration, or in the namespaceSelector of the webhook. Otherwise a job in another namespace
would be suspended and wait indefinitely.
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
"""The key, the operator and the values of one requirement."""
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
                    f"{ref}: {name} is called in namespaces that {SELECTOR} excludes: add {lacks} to its"
                    f" namespaceSelector, or kueue.{SELECTOR} to {names.settings}"
                )


def _terms(selector: Mapping[str, Any]) -> Iterator[Term]:
    """The requirements of a selector. Each value that a label must not have is a separate one."""
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
