from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policies.dialects.kueue import CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, WORKLOAD, ClusterQueue
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.kueue_jobs import KINDS
from policies.dialects.kueue_quotas import ResourceGroup
from policies.dialects.node_affinity import SELECTOR, Clash, NodeAffinity, node_affinity
from policies.dialects.taints import Taint
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Action, Cause, Finding, NotEvaluated
from policies.model.suggestion import KnownNames
from policies.rules.kueue._submissions import RequestedPodSet, Submission, flavors_of, queue_of, submissions

_LISTED = 4
"""The most flavors that a message names. The others are counted."""

_MOST = 1000
"""The most conditions and tolerations of pods that are judged. Up to 64 flavors are compared with each of them."""


@rule(
    "flavor-not-matched",
    source="Kueue: Workload condition QuotaReserved, untolerated taint and node affinity",
    kinds=(WORKLOAD, *KINDS),
    default=Action.WARN,
)
def flavor_not_matched(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """The pods of a Workload or a job match no flavor of their ClusterQueue.

    Why it is reported: Kueue accepts it and lets it wait. A flavor is excluded by a taint that neither the pods nor the
    flavor tolerate, and by a node selector or a required node affinity that contradicts its `nodeLabels`. A label that
    the flavor does not define excludes nothing. Nothing is reported while one of the flavors does not exist.
    Tolerations and other fields that webhooks add to Pods later are not known here.
    Example: a Job with `nodeSelector: {gpu: h100}` in a queue whose only flavor has `nodeLabels: {gpu: a100}`.
    Fix: change the selector or add the toleration, submit to another queue, or add a flavor to the queue.
    """
    for submitted in submissions(proposal):
        queue = queue_of(proposal.after, submitted)
        flavors = None if queue is None else flavors_of(proposal.after, queue)
        if queue is not None and flavors is not None:
            yield from _findings(submitted, queue, flavors)
        elif missing := proposal.incomplete(LOCAL_QUEUE, CLUSTER_QUEUE, RESOURCE_FLAVOR):
            yield missing
            return


class _Excluded(NamedTuple):
    """A flavor that pods do not match.

    `taint`: the taint that they do not tolerate, or None.
    `clash`: their requirement that contradicts the flavor's labels, or None.
    """

    flavor: Flavor
    taint: Taint | None
    clash: Clash | None

    @property
    def label(self) -> str:
        """The label of the flavor that the pods contradict; empty if there is none."""
        key = self.clash.requirement.key if self.clash and self.clash.requirement else ""
        return f"{key}={self.flavor.labels[key]}" if key else ""

    @property
    def field(self) -> str:
        return "spec.nodeTaints" if self.taint else "spec.nodeLabels"

    @property
    def has(self) -> str:
        """The taint or label of the flavor that excludes the pods; empty if the pods match no node at all."""
        if self.taint:
            return f"flavor {self.flavor.name} has the taint {self.taint}, which is not tolerated"
        return f"flavor {self.flavor.name} has the label {self.label}" if self.label else ""

    @property
    def asks(self) -> str:
        """The requirement of the pods for nodes."""
        if self.taint or self.clash is None:
            return ""
        source, requirement = self.clash
        if requirement is None:
            return "the node affinity has only empty terms, which match no node"
        return f"the {'nodeSelector' if source == SELECTOR else 'node affinity'} requires {requirement}"

    @property
    def cure(self) -> str:
        cures = [f"tolerate {self.taint}"] if self.taint else []
        if self.clash:
            verb = "select" if self.clash.source == SELECTOR else "allow"
            cures.append(f"{verb} {self.label}" if self.label else "write terms that some node meets")
        return " and ".join(cures)


def _findings(submitted: Submission, queue: ClusterQueue, flavors: Mapping[str, Flavor]) -> Iterator[Finding]:
    for pod_set in submitted.pod_sets:
        pods = node_affinity(pod_set.spec)
        if pods.size > _MOST:
            continue
        for group in queue.in_force:
            asked = [resource for resource in group.covered_resources if resource in pod_set.requests]
            excluded = _excluded(pods, [flavors[flavor.name] for flavor in group.flavors]) if asked else ()
            if excluded:
                yield _finding(submitted, pod_set, queue, group, excluded, ", ".join(asked))


def _excluded(pods: NodeAffinity, flavors: list[Flavor]) -> tuple[_Excluded, ...]:
    """Why each of the flavors is excluded; empty if one of them is not excluded."""
    found: list[_Excluded] = []
    for flavor in flavors:
        taint, clash = pods.untolerated(flavor), pods.clash(flavor.labels)
        if taint is None and clash is None:
            return ()
        found.append(_Excluded(flavor, taint, clash))
    return tuple(found)


def _finding(
    submitted: Submission,
    pod_set: RequestedPodSet,
    queue: ClusterQueue,
    group: ResourceGroup,
    excluded: tuple[_Excluded, ...],
    asked: str,
) -> Finding:
    reasons = "; ".join(_reasons(excluded))
    return Finding(
        submitted.ref,
        _field(pod_set, excluded),
        f"pod set {pod_set.name} matches no flavor for {asked} in ClusterQueue {queue.name}: {reasons}; it waits until "
        "one matches",
        fix=_fix(excluded),
        subject=asked,
        causes=(
            Cause(queue.ref, fields.join("spec.resourceGroups", group.at, "flavors"), f"has the flavors for {asked}"),
            *(
                Cause(RESOURCE_FLAVOR.named(each.flavor.name), each.field, str(each.taint or each.label))
                for each in excluded[:_LISTED]
                if each.taint or each.label
            ),
        ),
        profiles=STRICT_ONLY,
    )


def _reasons(excluded: tuple[_Excluded, ...]) -> Iterator[str]:
    """The reason for each flavor. The requirement of the pods is listed only once."""
    said = {""}
    for each in excluded[:_LISTED]:
        parts = [each.has] if each.has else []
        if each.asks not in said:
            said.add(each.asks)
            parts.append(each.asks)
        if parts:
            yield ", ".join(parts)
    more = len(excluded) - _LISTED
    if more > 0:
        yield f"and {more} more"


def _field(pod_set: RequestedPodSet, excluded: tuple[_Excluded, ...]) -> str:
    """The field of the spec that alone excludes all flavors; else the path of the pods."""
    sources = {each.clash.source if each.clash and not each.taint else "" for each in excluded}
    source = next(iter(sources)) if len(sources) == 1 else ""
    return fields.join(pod_set.spec_at, source) if source else pod_set.field


def _fix(excluded: tuple[_Excluded, ...]) -> str:
    if meant := _meant(excluded):
        return f"did you mean {meant}?"
    cures = list(dict.fromkeys(each.cure for each in excluded))[:_LISTED]
    return f"{', or '.join(cures)}, or submit to another queue"


def _meant(excluded: tuple[_Excluded, ...]) -> str | None:
    """The label of a flavor that the selector is a misspelling of, or None."""
    for each in excluded:
        requirement = each.clash.requirement if each.clash else None
        if requirement and requirement.operator == "In" and len(requirement.values) == 1:
            (value,) = requirement.values
            if near := KnownNames([each.flavor.labels[requirement.key]]).nearest(value):
                return f"{requirement.key}={near}"
    return None
