"""Judges a review on a forest: from the request to the rules and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from cluster.served import FOLLOWED
from cluster.sightings import Snapshot
from policies.configuration.settings import Configuration
from policies.dialects import kueue, read
from policies.dialects.core import CONFIG_MAP
from policies.dialects.reading import metadata
from policies.dialects.yunikorn_config.configmap import CONFIGS, refs
from policies.judge import Judgement, judge
from policies.judging.ruling import may_refuse
from policies.judging.verdict import Unjudged, Verdict
from policies.model.change import Change, Circumstances
from policies.model.findings import Severity, kind_field
from policies.model.forest import Forest
from policies.model.objects import Ref
from webhook.ledger.contents import LEDGER_KINDS
from webhook.ledger.entry import LedgerEntry, new_entry
from webhook.review import Review


class RuleFailed(Exception):
    """A rule failed, so it is not known whether the change may pass. The failure policy of the webhook decides."""

    def __init__(self, failed: Unjudged) -> None:
        super().__init__(f"rule {failed.rule.id} failed")
        self.__cause__ = failed.error


@dataclass(frozen=True, slots=True)
class JudgedRequest:
    review: Review
    change: Change
    configuration: Configuration
    circumstances: Circumstances

    def judged(self, forest: Forest) -> Judgement:
        """The judgement. Raises RuleFailed if a failed rule could have refused a change that the others allow."""
        found = judge(forest, [self.change], self.configuration, self.circumstances)
        if found.verdict.allowed:
            for failed in found.verdict.failed:
                if may_refuse(failed.rule, self.configuration):
                    raise RuleFailed(failed)
        return found

    @property
    def ordered(self) -> bool:
        """Whether the change waits for its turn in the ledger, because rules about other objects read this object.

        False for a change of fields that no rule reads, and for a subresource, since controllers write status freely.
        False also where no watch event would settle the entry: for a ConfigMap that no cache follows, which a tenant
        can create, and for a second deletion of an object that is being deleted, since it stores nothing.
        """
        change = self.change
        return (
            change.ref.group_kind in LEDGER_KINDS
            and (change.ref.group_kind != CONFIG_MAP or change.ref in self._followed_config_maps)
            and not self.review.subresource
            and change.before != change.after
            and not (change.after is None and metadata(self.review.manifest).get("deletionTimestamp"))
        )

    @property
    def _followed_config_maps(self) -> tuple[Ref, ...]:
        settings = self.configuration.yunikorn
        return refs(settings.namespace) if settings.follow else ()

    def entry(self) -> LedgerEntry | None:
        """The entry for the ledger; None for a dry run, which stores nothing."""
        review, at = self.review, self.circumstances.now.isoformat(timespec="seconds")
        if review.dry_run:
            return None
        states, orchestrated = (review.old_object, review.object), self.configuration.kueue.orchestrated
        return new_entry(review.uid, self.change.ref, *states, review.user.name, at, orchestrated=orchestrated)


def case(review: Review, configuration: Configuration, cache: Snapshot | None = None) -> JudgedRequest | None:
    """The request as the rules judge it; None if the kind of the object has no quota.

    If `cache` has the old object in the same version, it is not parsed again.
    """
    old = review.old_object
    known = cache.holding(old) if cache is not None and old is not None else None
    change = review.change(known, orchestrated=configuration.kueue.orchestrated)
    if change is None:
        return None
    return JudgedRequest(review, change, configuration, Circumstances(now=datetime.now(UTC), user=review.user))


def judge_review(review: Review, forest: Forest, configuration: Configuration) -> Judgement | None:
    asked = case(review, configuration)
    return asked.judged(forest) if asked else None


def may_be_stale(verdict: Verdict) -> bool:
    """Whether the refusal depends on other objects, which may be newer in the API server than in the cache."""
    return any(not refusing.rule.alone for refusing in verdict.of(Severity.ERROR))


def missed(verdict: Verdict, forest: Forest) -> list[Ref]:
    """The objects that warnings call missing. They may have been stored a moment ago, and the cache may not show them
    yet."""
    places = (place for judged in verdict.of(Severity.WARNING) for place in judged.finding.follows)
    return sorted({ref for ref, field in places if (ref, field) == kind_field(ref) and forest.get(ref) is None})


def warm_up() -> None:
    """Load every rule and compile every schema now, so that no request waits for that."""
    for kind, versions in FOLLOWED.items():
        for version in versions:
            manifest = {
                "apiVersion": f"{version.group}/{version.version}".lstrip("/"),
                "kind": kind.kind,
                "metadata": {"name": CONFIGS},  # only YuniKorn's own ConfigMaps are judged
            }
            judge(Forest(), [Change(None, read(manifest))])
    read({"apiVersion": f"{kueue.GROUP}/v1beta2", "kind": kueue.WORKLOAD.kind, "metadata": {"name": "warm-up"}})
