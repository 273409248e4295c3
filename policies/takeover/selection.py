"""Checks that Quotree's webhooks leave out the namespaces whose jobs Kueue does not manage.

Kueue's webhooks read `managedJobsNamespaceSelector` from Kueue's Configuration. For Quotree's webhooks, the selector
must be in Quotree's own Configuration, or in the namespaceSelector of the webhook. Otherwise a job in another namespace
would be suspended and wait indefinitely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from policies.configuration.kueue.namespaces import SELECTOR
from policies.configuration.settings import KueueSettings
from policies.dialects.reading import listing, mapping, text
from policies.dialects.selectors import LabelSelector, Requirement, read_label_selector
from policies.takeover.objects import FoundCluster, ReleaseNames

_WEBHOOKS_OF_JOBS = {
    "MutatingWebhookConfiguration": frozenset(
        ("kueue-jobs", "kueue-other-jobs", "kueue-templates", "kueue-pods", "kueue-default-pods")
    ),
    "ValidatingWebhookConfiguration": frozenset(("kueue-jobs",)),
}


def called_elsewhere(
    found: FoundCluster, names: ReleaseNames, settings: KueueSettings, selector: Mapping[str, Any]
) -> Iterator[str]:
    """A message for each webhook that is called in namespaces which Kueue's selector excludes.

    Nothing is reported for requirements that the settings have too, or that only exclude system namespaces.
    """
    in_settings, system = {*_terms(settings.namespaces)}, {"kube-system", names.kueue_namespace}
    wanted = [
        term
        for term in _terms(read_label_selector(selector))
        if term not in in_settings and not (term.operator == "NotIn" and term.values <= system)
    ]
    for ref in (names.mutating, names.validating):
        for webhook in map(mapping, listing(found.objects[ref].get("webhooks"))):
            name = text(webhook.get("name")) or ""
            if name.removesuffix(".quotree.dev") not in _WEBHOOKS_OF_JOBS[ref.kind]:
                continue
            in_webhook = {*_terms(read_label_selector(webhook.get("namespaceSelector")))}
            if missing := [_shown(term) for term in wanted if term not in in_webhook]:
                yield (
                    f"{ref}: {name} is called in namespaces that {SELECTOR} excludes: add {', '.join(missing)} to its"
                    f" namespaceSelector, or kueue.{SELECTOR} to {names.settings}"
                )


def _terms(selector: LabelSelector | None) -> Iterator[Requirement]:
    """The requirements of a selector: `a notin (x, y)` as `a notin (x)` and `a notin (y)`."""
    for each in selector.requirements if selector else ():
        if each.operator == "NotIn":
            yield from (replace(each, values=frozenset([value])) for value in sorted(each.values))
        else:
            yield each


def _shown(term: Requirement) -> str:
    shown = f"{term.key} {term.operator}"
    return f"{shown} ({', '.join(sorted(term.values))})" if term.values else shown
