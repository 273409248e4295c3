"""The steps that remove Quotree from a cluster, with all that it has added, so that nothing waits for it any more.

The webhook configurations are removed first, since requests would be refused without a webhook. The processes are
stopped before their labels, annotations and finalizers are removed, which they would restore. Running work continues.
Objects of Kueue, Volcano and YuniKorn stay, unless their definitions are removed on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from policies.dialects.frameworks import SHAPES
from policies.dialects.job_shape import JobShape, at
from policies.dialects.kueue_jobs import MANAGED, QUEUE_NAME
from policies.dialects.kueue_kinds import GROUP, IN_USE, LABEL
from policies.dialects.pod_reading import gates_in
from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY, WAITS
from policies.dialects.reading import Manifest, listing, mapping, metadata, replaced, texts
from policies.dialects.volcano import AMOUNTS_FROM_NODES, BROKEN_SUMS
from policies.dialects.volcano_gates import TOGETHER
from policies.dialects.yunikorn_gates import FULL, UNREADABLE
from policies.model.printing import listed
from policies.mutation.kueue_pod_defaults import ELASTIC_GATE, GATE, TOPOLOGY_GATE
from policies.takeover.objects import (
    FoundCluster,
    ObjectRef,
    PlannedWrite,
    PlanStep,
    ReleaseNames,
    TakeoverPlan,
    deletion,
    ref_of,
    replicas,
    updates,
    version_of,
)
from policies.takeover.taking import traces
from policies.vap.admission_policies import forms, policy_name

QUEUE_FINALIZER, QUEUE_OPERATION = "quotree.dev/queue-in-use", "quotree.dev/queue-operation"
"""The annotations that scheduling/volcano_queues writes on Volcano's queues."""
FENCE = "quotree.dev/taken-over-at"
"""The annotation that a new leader of the reconciler writes on Workloads and Pods."""
OF_KUEUE = frozenset({IN_USE, MANAGED, GATE, TOPOLOGY_GATE, ELASTIC_GATE})
"""The additions that Kueue's manager also uses. They stay if it runs."""
FINALIZERS = frozenset({IN_USE, MANAGED, QUEUE_FINALIZER})
GATES = frozenset({GATE, TOPOLOGY_GATE, ELASTIC_GATE, QUOTA_KEY})
LABELS = frozenset({MANAGED, QUOTA_KEY})
ANNOTATIONS = frozenset({ADMITTED, WAITS, TOGETHER, QUEUE_OPERATION, AMOUNTS_FROM_NODES, BROKEN_SUMS, FENCE})
CONDITIONS = frozenset({FULL, UNREADABLE})
"""The conditions of a Namespace that Quotree writes."""
SHARD_CONDITION = "part.quotree.dev/"
"""How the conditions of a ClusterQueue begin that name the shard which decides for it."""
KINDS_WITH_ADDITIONS = (
    "ClusterQueue",
    "ResourceFlavor",
    "AdmissionCheck",
    "Topology",
    "Workload",
    "Queue",
    "Pod",
    "Namespace",
)
"""The kinds of other projects to which Quotree adds something. It adds nothing to jobs."""
CLUSTER_ROLES = (
    "quotree-audit",
    "quotree-audit-yunikorn",
    "quotree-batch-admin",
    "quotree-batch-user",
    "quotree-metrics-reader",
    "quotree-reconciler",
    "quotree-reconciler-deletes-jobs",
    "quotree-reconciler-multikueue",
    "quotree-reconciler-volcano",
    "quotree-reconciler-volcano-gates",
    "quotree-reconciler-yunikorn",
    "quotree-reconciler-yunikorn-observe",
    "quotree-volcano-gates-viewer",
    "quotree-volcano-viewer",
    "quotree-webhook",
    "quotree-webhook-certificates",
    "quotree-webhook-yunikorn",
    "quotree-yunikorn-viewer",
)
LEASE_POLICIES = ("quotree-reconciler-manager-lease", "quotree-reconciler-volcano-leases")
"""The ValidatingAdmissionPolicies of the Leases of other programs, and their bindings."""
API_SERVICES = ("v1alpha1.visibility.quotree.dev",)
CLUSTER_ROLE_BINDINGS = (*(each for each in CLUSTER_ROLES if "-batch-" not in each), "quotree-webhook-reviews")
KUBECONFIGS = "quotree-kubeconfigs"
"""The namespace of Secrets with kubeconfigs, which belong to the administrator."""
_REMOTE = "quotree-reconciler-multikueue"
_TOP = ObjectRef("Queue", "root")
_NAMED = 20
"""The most jobs or Pods that a note names."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of a removal.

    `resume`: whether waiting jobs are started.
    `definitions`: whether Quotree's definitions are deleted, with all objects of their kinds.
    """

    resume: bool = False
    definitions: bool = False


def read_by_name(names: ReleaseNames) -> Iterator[ObjectRef]:
    """The objects of Quotree with fixed names, with those of `quotree install render --vap`."""
    yield from (names.validating, names.mutating, ObjectRef("Namespace", names.namespace))
    for name in (*LEASE_POLICIES, *(policy_name(rule, form) for rule, form in forms())):
        yield ObjectRef("ValidatingAdmissionPolicyBinding", name)
        yield ObjectRef("ValidatingAdmissionPolicy", name)
    yield from (ObjectRef("APIService", name) for name in API_SERVICES)
    yield from (ObjectRef("ClusterRoleBinding", name) for name in CLUSTER_ROLE_BINDINGS)
    yield from (ObjectRef("ClusterRole", name) for name in CLUSTER_ROLES)
    yield from (ObjectRef(kind, _REMOTE, KUBECONFIGS) for kind in ("RoleBinding", "Role"))


def remove(found: FoundCluster, names: ReleaseNames, wishes: Wishes) -> TakeoverPlan:
    """The plan of a removal. It is refused after a take-over that was not reversed."""
    if any(traces(found, names)):
        return TakeoverPlan(refusals=("Quotree has taken over from Kueue: run quotree install take-over --undo first",))
    kept = OF_KUEUE if _kueue_runs(found, names) else frozenset[str]()
    ours = sorted(ref for ref in read_by_name(names) if ref in found.objects)
    steps = (
        PlanStep("stop the API server from calling Quotree", _deleted(found, ours, _ASKED), settles=True),
        _stop(found, names),
        PlanStep("remove finalizers, scheduling gates, labels and annotations", updates(found, _released(found, kept))),
        PlanStep("remove the conditions of Namespaces and ClusterQueues", tuple(_without_conditions(found))),
        *([PlanStep("start the jobs that wait", _resumed(found))] if wishes.resume and not kept else []),
        PlanStep(
            "delete roles and bindings",
            _deleted(found, ours, ("ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role")),
        ),
        _gone(found, f"delete the namespace {names.namespace}", [ObjectRef("Namespace", names.namespace)]),
        *([_gone(found, "delete our definitions", _definitions(found, kept))] if wishes.definitions else []),
    )
    if all(step.done for step in steps):
        return TakeoverPlan(notes=("nothing of Quotree is here", *_left(found, wishes, kept)))
    return TakeoverPlan(steps, notes=(*_notes(found, wishes, kept), *_left(found, wishes, kept)))


_ASKED = (
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "APIService",  # while its server is down, no namespace can be deleted
)


def _kueue_runs(found: FoundCluster, names: ReleaseNames) -> bool:
    manager = found.objects.get(names.manager)
    return names.manager_lease in found.lease_holders or (manager is not None and replicas(manager) > 0)


def _stop(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    """The step that stops Quotree's processes: a running reconciler would restore labels, and stop ungated Pods."""
    ours = [ref for ref in sorted(found.objects) if (ref.kind, ref.namespace) == ("Deployment", names.namespace)]
    left = sum(found.pods.values())
    holder = found.lease_holders.get(names.reconciler_lease)
    waits = f"{left} Pod{'s' * (left > 1)} in {names.namespace} to end" if left else ""
    if not waits and holder:
        waits = f"{names.reconciler_lease}, which {holder} holds, to be given up"
    return PlanStep("stop Quotree's programs", tuple(deletion(found.objects[ref]) for ref in ours), waits)


# -- additions ---------------------------------------------------------------------------------------------------------


def has_additions(manifest: Manifest) -> bool:
    return bool(_additions(manifest, frozenset()))


def _additions(manifest: Manifest, kept: frozenset[str]) -> frozenset[str]:
    """The finalizers, gates, labels, annotations and conditions of Quotree on the object, except those in `kept`."""
    meta = metadata(manifest)
    found = {
        *FINALIZERS.intersection(map(str, listing(meta.get("finalizers")))),
        *GATES.intersection(_gates(manifest)),
        *LABELS.intersection(texts(meta.get("labels"))),
        *ANNOTATIONS.intersection(texts(meta.get("annotations"))),
        *(str(mapping(each).get("type")) for each in _conditions(manifest) if _is_ours(each)),
    }
    return frozenset(found) - kept


def _conditions(manifest: Manifest) -> Sequence[object]:
    return listing(mapping(manifest.get("status")).get("conditions"))


def _is_ours(condition: object) -> bool:
    kind = str(mapping(condition).get("type"))
    return kind in CONDITIONS or kind.startswith(SHARD_CONDITION)


def _without_conditions(found: FoundCluster) -> Iterator[PlannedWrite]:
    """The writes that remove conditions; separate ones, since conditions are in the status."""
    for each in (*found.of_kind("Namespace"), *found.of_kind("ClusterQueue")):
        left = [one for one in _conditions(each) if not _is_ours(one)]
        if len(left) < len(_conditions(each)):
            yield PlannedWrite(ref_of(each), {"status": {"conditions": left or None}}, version_of(each), "status")


def _released(found: FoundCluster, kept: frozenset[str]) -> Iterator[Manifest]:
    for kind in KINDS_WITH_ADDITIONS:
        for each in found.of_kind(kind):
            if additions := _additions(each, kept):
                yield _bare(each, additions)


def _bare(manifest: Manifest, additions: frozenset[str]) -> dict[str, Any]:
    """A copy without these additions, and without the amounts that the reconciler has derived from the Nodes."""
    meta, made = metadata(manifest), dict(manifest)
    followed = texts(meta.get("annotations")).get(AMOUNTS_FROM_NODES, "").split(",") if ref_of(manifest) == _TOP else ()
    for name in ("capability", "deserved"):
        if name in followed:
            made = replaced(made, f"spec.{name}", None)
    if finalizers := listing(meta.get("finalizers")):
        made = replaced(made, "metadata.finalizers", [each for each in finalizers if each not in additions] or None)
    for key in ("labels", "annotations"):
        if held := texts(meta.get(key)):
            made = replaced(made, f"metadata.{key}", {name: held[name] for name in held if name not in additions})
    if gated := listing(mapping(manifest.get("spec")).get("schedulingGates")):
        open_ = [each for each in gated if mapping(each).get("name") not in additions]
        made = replaced(made, "spec.schedulingGates", open_ or None)
    return made


# -- jobs --------------------------------------------------------------------------------------------------------------


def _jobs(found: FoundCluster, *, waiting: bool) -> Iterator[tuple[JobShape, Manifest]]:
    """The jobs with a queue that wait, or else those that run."""
    for shape in SHAPES.values():
        for each in found.of_kind(shape.kind.kind):
            queued = QUEUE_NAME in texts(metadata(each).get("labels"))
            if queued and (at(each, shape.suspend.path) == shape.suspend.on) is waiting and not shape.ended(each):
                yield shape, each


def _resumed(found: FoundCluster) -> tuple[PlannedWrite, ...]:
    jobs = _jobs(found, waiting=True)
    return updates(found, (replaced(job, shape.suspend.path, shape.suspend.off) for shape, job in jobs))


# -- deletions ---------------------------------------------------------------------------------------------------------


def _deleted(found: FoundCluster, ours: Iterable[ObjectRef], kinds: Iterable[str]) -> tuple[PlannedWrite, ...]:
    return tuple(deletion(found.objects[ref]) for kind in kinds for ref in ours if ref.kind == kind)


def _gone(found: FoundCluster, title: str, refs: Iterable[ObjectRef]) -> PlanStep:
    """The step that deletes these objects and waits until they are gone."""
    present = [ref for ref in refs if ref in found.objects]
    asked = [ref for ref in present if metadata(found.objects[ref]).get("deletionTimestamp")]
    writes = tuple(deletion(found.objects[ref]) for ref in present if ref not in asked)
    return PlanStep(title, writes, f"{present[0]} to be gone" if present else "")


def _definitions(found: FoundCluster, kept: frozenset[str]) -> list[ObjectRef]:
    """The definitions with our label. Kueue keeps the label if it is installed over ours, so they stay if it runs."""
    ours = (each for each in found.definitions if LABEL in texts(metadata(each).get("labels")))
    return [ref_of(each) for each in ours if not kept or mapping(each.get("spec")).get("group") != GROUP]


# -- notes -------------------------------------------------------------------------------------------------------------


def _notes(found: FoundCluster, wishes: Wishes, kept: frozenset[str]) -> Iterator[str]:
    if running := sum(1 for _ in _jobs(found, waiting=False)):
        yield f"work that runs is left running: {running} job{'s' * (running > 1)}"
    if pods := [_name(each) for each in found.of_kind("Pod") if (GATES - kept).intersection(_gates(each))]:
        yield f"these Pods lose their scheduling gate and start without quota: {_some(pods)}"
    if kept:
        yield "Kueue's manager runs here: its finalizers, gates, jobs and definitions are left to it"
        return
    waiting = [f"{job['kind']} {_name(job)}" for _, job in _jobs(found, waiting=True)]
    if waiting and not wishes.resume:
        yield f"these jobs stay suspended; --resume-jobs starts them: {_some(waiting)}"


def _some(names: list[str]) -> str:
    return listed(names[:_NAMED], len(names))


def _left(found: FoundCluster, wishes: Wishes, kept: frozenset[str]) -> Iterator[str]:
    if (ours := _definitions(found, kept)) and not wishes.definitions:
        yield (
            f"{len(ours)} definitions stay, with the objects of these kinds; Kueue's v1beta1 is no longer converted."
            " --crds deletes them with all their objects"
        )
    if found.other_clusters:
        yield (
            f"the Secrets in {KUBECONFIGS} stay, and so does work on other clusters: on each run kubectl delete -k"
            " manifests/multikueue-worker"
        )


def _name(manifest: Manifest) -> str:
    return f"{metadata(manifest).get('namespace')}/{metadata(manifest).get('name')}"


def _gates(manifest: Manifest) -> tuple[str, ...]:
    return gates_in(mapping(manifest.get("spec")))
