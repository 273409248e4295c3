"""What is answered to a Review, given the world: the way from the request to the rules and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from cluster.sources import FOLLOWED
from policies.configuration.settings import Configuration
from policies.dialects import kueue, read
from policies.dialects.core import NAMESPACE, Namespace
from policies.dialects.yunikorn_config.configmap import CONFIGS
from policies.model.forest import Forest
from policies.model.objects import Node, Ref
from policies.model.proposal import Change, Circumstances, Proposal, propose
from policies.model.rule import Severity
from policies.model.verdict import Verdict, evaluate
from webhook.review import Review


def proposal_of(review: Review, forest: Forest, configuration: Configuration) -> Proposal | None:
    """The change as the rules judge it; None where the object is of a kind that carries no quota."""
    change = review.change()
    if change is None:
        return None
    circumstances = Circumstances(
        now=datetime.now(UTC),
        user=review.user,
        subresource=review.subresource,
        dry_run=review.dry_run,
        namespace_labels=_labels(forest, review.namespace),
        delete_options=review.delete_options,
    )
    return propose(forest, [change], configuration, circumstances)


def judge(review: Review, forest: Forest, configuration: Configuration) -> tuple[Proposal | None, Verdict]:
    """The proposal and what the rules say of it; an object that carries no quota is allowed."""
    proposal = proposal_of(review, forest, configuration)
    return proposal, evaluate(proposal) if proposal else Verdict()


def may_be_stale(verdict: Verdict) -> bool:
    """Whether the refusal rests on what the cache holds of other objects: it may lag behind the API server."""
    return any(not judged.rule.alone for judged in verdict.of(Severity.ERROR))


def warm_up() -> None:
    """Load every rule and compile every schema now, so that no request waits for that."""
    for kind, versions in FOLLOWED.items():
        for version in versions:
            manifest = {
                "apiVersion": f"{version.group}/{version.version}".lstrip("/"),
                "kind": kind.kind,
                "metadata": {"name": CONFIGS},  # of ConfigMaps only YuniKorn's own are judged
            }
            evaluate(propose(Forest(), [Change(None, read(manifest))]))
    read({"apiVersion": f"{kueue.GROUP}/v1beta2", "kind": kueue.WORKLOAD.kind, "metadata": {"name": "warm-up"}})


def changes_a_tree(proposal: Proposal) -> bool:
    """Whether a node comes, goes or may look different to the nodes around it."""
    return any(isinstance(change.after or change.before, Node) for change in proposal.changes)


def reserve(proposal: Proposal) -> None:
    """Called before a change of a tree is allowed, never in a dry run. Does nothing yet.

    Here the ledger will go: it orders writers, so that two requests which are fine alone and wrong together cannot
    both pass. Until then such a pair passes if both arrive before the first is seen in the cache (milliseconds as a
    rule). Whatever it raises becomes HTTP 500, so the change is not allowed.
    """


def _labels(forest: Forest, namespace: str) -> Mapping[str, str]:
    found = forest.get(Ref(*NAMESPACE, "", namespace)) if namespace else None
    return found.labels if isinstance(found, Namespace) else {}
