"""What is answered to a Review, given the world: the way from the request to the rules and back."""

from __future__ import annotations

from datetime import UTC, datetime

from cluster.sources import FOLLOWED
from policies.configuration.settings import Configuration
from policies.dialects import kueue, read
from policies.dialects.yunikorn_config.configmap import CONFIGS
from policies.judge import Judgement, judge
from policies.judging.proposal import Proposal
from policies.judging.verdict import Verdict
from policies.model.change import Change, Circumstances
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import Node
from webhook.review import Review


def judged(review: Review, forest: Forest, configuration: Configuration) -> Judgement | None:
    """What the rules say of the request; None where the object is of a kind that carries no quota."""
    change = review.change()
    if change is None:
        return None
    return judge(forest, [change], configuration, Circumstances(now=datetime.now(UTC), user=review.user))


def may_be_stale(verdict: Verdict) -> bool:
    """Whether the refusal rests on what the cache holds of other objects: it may lag behind the API server."""
    return any(not refusing.rule.alone for refusing in verdict.of(Severity.ERROR))


def warm_up() -> None:
    """Load every rule and compile every schema now, so that no request waits for that."""
    for kind, versions in FOLLOWED.items():
        for version in versions:
            manifest = {
                "apiVersion": f"{version.group}/{version.version}".lstrip("/"),
                "kind": kind.kind,
                "metadata": {"name": CONFIGS},  # of ConfigMaps only YuniKorn's own are judged
            }
            judge(Forest(), [Change(None, read(manifest))])
    read({"apiVersion": f"{kueue.GROUP}/v1beta2", "kind": kueue.WORKLOAD.kind, "metadata": {"name": "warm-up"}})


def changes_a_tree(proposal: Proposal) -> bool:
    """Whether a node comes, goes or may look different to the nodes around it."""
    return any(isinstance(change.after or change.before, Node) for change in proposal.changes)


def reserve(proposal: Proposal) -> None:
    """Called before a change of a tree is allowed, never in a dry run. Does nothing yet.

    Here the ledger will go: it orders writers, so that two requests which are fine alone and wrong together cannot
    both pass. Until then such a pair passes if both arrive before the first is in the cache (milliseconds as a
    rule). Whatever it raises becomes HTTP 500, so the change is not allowed.
    """
