"""Workloads that wait, for every reason there is, each with its sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

from policies.dialects.kueue_workload import GATED_BY
from scheduling.objects.workload import ALLOWED_FLAVORS
from tests import builders
from tests.builders import Manifest, cluster_queue, flavor, group, kueue, local_queue, quota
from tests.reconciler.api.organisation import admitted, waiting

SPOT = kueue("ResourceFlavor", "spot", {})
TAINT = {"key": "dedicated", "value": "vision", "effect": "NoSchedule"}
FLAVORS = (
    SPOT,
    kueue("ResourceFlavor", "h100", {"nodeLabels": {"gpu": "h100"}}),
    kueue("ResourceFlavor", "tainted", {"nodeTaints": [TAINT]}),
    kueue("ResourceFlavor", "rack", {"nodeLabels": {"rack": "r"}, "topologyName": "racks"}),
)
CONDITION = {"type": "Evicted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def team(*more: Manifest, made: Manifest | None = None, local: dict[str, Any] | None = None) -> list[Manifest]:
    """Namespace a with LocalQueue main of ClusterQueue a, by default of 4 cpu without a Cohort."""
    stored = made if made is not None else cluster_queue("a", None, group("cpu", flavor("spot", cpu="4")))
    main = kueue("LocalQueue", "main", {"clusterQueue": "a", **(local or {})}, namespace="a")
    return [builders.namespace("a", labels={"team": "vision"}), stored, main, *FLAVORS, *more]


def of(*names: str, **limits: Any) -> Manifest:
    """ClusterQueue a with 4 cpu of each of these flavors."""
    return cluster_queue(
        "a", limits.pop("cohort", None), group("cpu", *(flavor(name, cpu=4) for name in names)), **limits
    )


def work(cpu: Any = 1, name: str = "w", local: str = "main", priority: int = 0, **fields: Any) -> Manifest:
    """With fields of its spec, and others of its pods, its metadata and its status."""
    pods, metadata, status = fields.pop("pods", {}), fields.pop("metadata", {}), fields.pop("status", {})
    made = waiting(name, cpu, f"a/{local}", priority, metadata=metadata)
    made["spec"]["podSets"][0]["template"]["spec"] |= pods
    made["spec"]["podSets"][0] |= fields.pop("pod_set", {})
    made["spec"] |= fields
    return {**made, "status": status} if status else made


def running(cpu: int, name: str = "r", local: str = "a/main", queue_name: str = "a", **fields: Any) -> Manifest:
    return admitted(name, cpu, local, queue_name, **fields)


def requests(**amounts: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": amounts}}]}


BIG = (
    cluster_queue("big", None, group("cpu memory", flavor("spot", cpu="99", memory="99Gi"))),
    local_queue("big", "big", "a"),
)
"""A larger ClusterQueue, with a LocalQueue of the namespace."""
A = "Waiting in ClusterQueue a (LocalQueue a/main): "
SOON = "it starts once that is released, or ClusterQueue a gets more quota"
QUOTA = "have more quota given to ClusterQueue a"


class Case(NamedTuple):
    """Objects with Workload a/w, and its sentence."""

    manifests: list[Manifest]
    said: str


CASES = {
    "no queue named": Case(
        team(work(local="")),
        "It names no LocalQueue; name one with the label kueue.x-k8s.io/queue-name",
    ),
    "misspelt queue": Case(team(work(local="mian")), "LocalQueue a/mian does not exist; did you mean main?"),
    "unknown queue": Case(team(work(local="xyz")), "LocalQueue a/xyz does not exist; Namespace a has main"),
    "LocalQueue stopped": Case(
        team(*BIG, work(), local={"stopPolicy": "Hold"}),
        "LocalQueue a/main is stopped and admits nothing; use LocalQueue big, or have it resumed "
        "(quotree resume localqueue main -n a)",
    ),
    "missing ClusterQueue": Case(
        team(*BIG, work(), local={"clusterQueue": "gone"}),
        "LocalQueue a/main leads to ClusterQueue gone, which does not exist; use LocalQueue big, or have "
        "ClusterQueue gone created, or another one named in LocalQueue a/main",
    ),
    "ClusterQueue stopped": Case(
        team(work(), made=of("spot", stopPolicy="Hold")),
        f"{A}ClusterQueue a is stopped and admits nothing; have it resumed (quotree resume clusterqueue a)",
    ),
    "missing ResourceFlavor": Case(
        team(work(), made=of("gone")),
        f"{A}ClusterQueue a admits nothing: references missing ResourceFlavor(s): gone; "
        "have the ResourceFlavor created",
    ),
    "missing AdmissionCheck": Case(
        team(work(), made=of("spot", admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]})),
        f"{A}ClusterQueue a admits nothing: references missing AdmissionCheck(s): budget; "
        "have the AdmissionCheck created",
    ),
    "inactive AdmissionCheck": Case(
        team(
            work(),
            kueue("AdmissionCheck", "budget", {"controllerName": "example.com/budget"}),
            made=of("spot", admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]}),
        ),
        f"{A}ClusterQueue a admits nothing: references inactive AdmissionCheck(s): budget; have the AdmissionCheck "
        "repaired: its condition Active says what is wrong, and without that condition its controller does not run",
    ),
    "cycle": Case(
        team(
            work(),
            kueue("Cohort", "x", {"parentName": "y"}),
            kueue("Cohort", "y", {"parentName": "x"}),
            made=of("spot", cohort="x"),
        ),
        f"{A}ClusterQueue a admits nothing: its cohorts form a cycle: x -> y -> x; "
        "have one of these Cohorts given another parent",
    ),
    "Namespace not selected": Case(
        team(*BIG, work(), made=of("spot", namespaceSelector={"matchLabels": {"team": "robots"}})),
        f"{A}the namespaceSelector of ClusterQueue a does not match, so it does not serve Namespace a; "
        "use LocalQueue big, or have Namespace a selected by ClusterQueue a",
    ),
    "no selector": Case(
        team(work(), made=of("spot", namespaceSelector=None)),
        f"{A}ClusterQueue a has no namespaceSelector, so it does not serve Namespace a; "
        "have Namespace a selected by ClusterQueue a",
    ),
    "deactivated": Case(
        team(work(active=False)),
        "Workload w is deactivated; "
        "queue it again with `quotree resume workload w -n a`, which sets its spec.active to true",
    ),
    "deactivated with a reason": Case(
        team(work(active=False, status={"conditions": [CONDITION | {"reason": "Deactivated", "message": "too slow"}]})),
        "Workload w is deactivated (too slow); "
        "queue it again with `quotree resume workload w -n a`, which sets its spec.active to true",
    ),
    "backoff": Case(
        team(
            work(
                status={
                    "requeueState": {"count": 1, "requeueAt": "2030-01-01T00:00:00Z"},
                    "conditions": [CONDITION | {"reason": "PodsReadyTimeout", "message": "too slow"}],
                }
            )
        ),
        f"{A}it was evicted (PodsReadyTimeout) and is tried again at 2030-01-01T00:00:00Z",
    ),
    "admission gate": Case(
        team(work(metadata={"annotations": {GATED_BY: "example.com/budget"}})),
        "Waiting at LocalQueue a/main: Admission is gated by: example.com/budget; it is queued once the gate is "
        f"removed from its annotation {GATED_BY}",
    ),
    "failed check": Case(
        team(
            work(
                status={
                    "admissionChecks": [
                        {
                            "name": "budget",
                            "state": "Retry",
                            "message": "no money",
                            "lastTransitionTime": "2026-01-01T00:00:00Z",
                        }
                    ]
                }
            )
        ),
        f"{A}admission check budget is Retry (no money); it is tried again once that is Pending",
    ),
    "short": Case(team(running(3), work(2)), f"{A}needs 1 more cpu of flavor spot; {SOON}"),
    "short of each flavor": Case(
        team(running(3), work(5), made=of("spot", "h100", "tainted")),
        f"{A}needs 1 more cpu than it can ever get of flavor spot, or 1 more cpu than it can ever get of flavor h100, "
        f"and its pods do not tolerate the taint dedicated=vision:NoSchedule of flavor tainted; "
        f"add a toleration of dedicated=vision:NoSchedule, request no more than 4 cpu in all, or {QUOTA}",
    ),
    "short of something else of each flavor": Case(
        team(
            work(pods=requests(cpu="10", memory="100Gi")),
            made=cluster_queue(
                "a",
                None,
                group("cpu memory", flavor("spot", cpu="8", memory="16Gi"), flavor("h100", cpu="4", memory="64Gi")),
            ),
        ),
        f"{A}needs 84Gi more memory than it can ever get and 2 more cpu than it can ever get of flavor spot, "
        "or 36Gi more memory than it can ever get and 6 more cpu than it can ever get of flavor h100; "
        f"request no more than 64Gi memory and 4 cpu in all, or {QUOTA}",
    ),
    "lent and not reclaimed": Case(
        team(
            cluster_queue("b", "org", group("cpu", flavor("spot", cpu="0"))),
            local_queue("b", "b", "a"),
            running(3, "lent", "a/b", "b"),
            work(2),
            made=of("spot", cohort="org"),
        ),
        f"{A}needs 1 more cpu of flavor spot; the nominalQuota of ClusterQueue a would be enough, but other queues "
        f"borrow it, and its reclaimWithinCohort is Never; {SOON}",
    ),
    "lent, and in use by the queue itself": Case(
        team(
            cluster_queue("b", "org", group("cpu", flavor("spot", cpu="0"))),
            local_queue("b", "b", "a"),
            running(1, "lent", "a/b", "b"),
            running(3),
            work(2),
            made=of("spot", cohort="org"),
        ),
        f"{A}needs 2 more cpu of flavor spot; {SOON}",
    ),
    "borrowingLimit": Case(
        team(
            cluster_queue("b", "org", group("cpu", flavor("spot", cpu="9"))),
            running(4),
            work(2),
            made=cluster_queue("a", "org", group("cpu", flavor("spot", cpu=quota("4", borrow="1")))),
        ),
        f"{A}needs 1 more cpu of flavor spot; "
        f"the borrowingLimit of ClusterQueue a does not let it borrow that much; {SOON}",
    ),
    "borrowingLimit of a Cohort": Case(
        team(
            kueue(
                "Cohort",
                "org",
                {
                    "parentName": "company",
                    "resourceGroups": [group("cpu", flavor("spot", cpu=quota("0", borrow="1")))],
                },
            ),
            kueue("Cohort", "company", {"resourceGroups": [group("cpu", flavor("spot", cpu="9"))]}),
            running(4),
            work(2),
            made=of("spot", cohort="org"),
        ),
        f"{A}needs 1 more cpu of flavor spot; "
        f"a borrowingLimit above it in the tree does not let it borrow that much; {SOON}",
    ),
    "lendingLimit": Case(
        team(
            cluster_queue("b", "org", group("cpu", flavor("spot", cpu=quota("9", lend="1")))),
            running(4),
            work(2),
            made=of("spot", cohort="org"),
        ),
        f"{A}needs 1 more cpu of flavor spot; {SOON}",
    ),
    "never fits": Case(
        team(work(9)),
        f"{A}needs 5 more cpu than it can ever get of flavor spot; request no more than 4 cpu in all, or {QUOTA}",
    ),
    "never fits here": Case(
        team(*BIG, work(9)),
        f"{A}needs 5 more cpu than it can ever get of flavor spot; request no more than 4 cpu in all, "
        f"use LocalQueue big, or {QUOTA}",
    ),
    "no quota at all": Case(
        team(work(9), made=cluster_queue("a", None, group("cpu", flavor("spot", cpu="0")))),
        f"{A}needs 9 more cpu than it can ever get of flavor spot; {QUOTA}",
    ),
    "strict and large": Case(
        team(work(9, "head", priority=1), work(8), made=of("spot", queueingStrategy="StrictFIFO")),
        f"{A}needs 4 more cpu than it can ever get of flavor spot; 1 workload is ahead; "
        f"request no more than 4 cpu in all, or {QUOTA}",
    ),
    "strict": Case(
        team(work(9, "head", priority=1), work(1), made=of("spot", queueingStrategy="StrictFIFO")),
        f"{A}ClusterQueue a is StrictFIFO, and no workload may overtake its head; 1 workload is ahead; "
        "it is tried once that one has started",
    ),
    "uncovered resource": Case(
        team(work(pods=requests(cpu="1", memory="1Gi"))),
        f"{A}it requests memory, and ClusterQueue a has quota only for cpu of flavor spot; request no memory, or "
        "have memory added to a resource group of ClusterQueue a",
    ),
    "covered elsewhere": Case(
        team(*BIG, work(pods=requests(cpu="1", memory="1Gi"))),
        f"{A}it requests memory, and ClusterQueue a has quota only for cpu of flavor spot; request no memory, "
        "use LocalQueue big, or have memory added to a resource group of ClusterQueue a",
    ),
    "nothing is covered": Case(
        team(work(), made=cluster_queue("a")),
        f"{A}it requests cpu, and ClusterQueue a has quota for nothing; request no cpu, or "
        "have cpu added to a resource group of ClusterQueue a",
    ),
    "many uncovered resources": Case(
        team(
            *(kueue("ResourceFlavor", f"flavor{number}", {}) for number in range(9)),
            work(pods=requests(cpu="1", **{f"example.com/{letter}": "1" for letter in "fedcba"})),
            made=cluster_queue(
                "a",
                None,
                group("cpu", *(flavor(f"flavor{number}", cpu="4") for number in range(9))),
                group("memory", flavor("spot", memory="4")),
            ),
        ),
        f"{A}it requests example.com/a, example.com/b, example.com/c and 3 more, and ClusterQueue a has quota only for "
        "cpu of flavors flavor0, flavor1, flavor2 and 6 more and memory of flavor spot; request none of example.com/a, "
        "example.com/b, example.com/c and 3 more, or have example.com/a, example.com/b, example.com/c and 3 more added "
        "to a resource group of ClusterQueue a",
    ),
    "nodeSelector": Case(
        team(work(pods={"nodeSelector": {"gpu": "a100", "zone": "z"}}), made=of("h100")),
        f"{A}its pods select nodes with gpu=a100, and those of flavor h100 have gpu=h100; "
        "change the nodeSelector of its pods",
    ),
    "node affinity": Case(
        team(
            work(
                pods={
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a100"]}]}
                                ]
                            }
                        }
                    }
                }
            ),
            made=of("h100"),
        ),
        f"{A}the node affinity of its pods excludes the nodes of flavor h100 (gpu=h100); "
        "change the node affinity of its pods",
    ),
    "taint": Case(
        team(work(), made=of("tainted")),
        f"{A}its pods do not tolerate the taint dedicated=vision:NoSchedule of flavor tainted; "
        "add a toleration of dedicated=vision:NoSchedule",
    ),
    "flavors allowed": Case(
        team(work(metadata={"annotations": {ALLOWED_FLAVORS: "h100"}})),
        f"{A}the annotation {ALLOWED_FLAVORS} does not name flavor spot; name spot in the annotation",
    ),
    "flavor with topology": Case(
        team(work(pods={"nodeSelector": {"gpu": "a100"}}), made=of("rack", "h100")),
        f"{A}flavor rack is only for pods that request a topology, and its pods select nodes with gpu=a100, and those "
        "of flavor h100 have gpu=h100; change the nodeSelector of its pods, or have a flavor without topologyName "
        "added to ClusterQueue a",
    ),
    "topology": Case(
        team(work(pod_set={"topologyRequest": {"required": "rack"}})),
        f"{A}pod set main requests a topology, and the Nodes are not known here",
    ),
    "limits below requests": Case(
        team(
            work(
                pods={
                    "containers": [
                        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}
                    ]
                }
            )
        ),
        f"{A}no pod of it could be created: resources validation failed: "
        'spec.podSets[0].template.spec.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits; '
        "change its requests",
    ),
    "LimitRange below requests": Case(
        team(
            {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "small", "namespace": "a"},
                "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
            },
            work(2),
        ),
        f"{A}no pod of it could be created: resources didn't satisfy LimitRange constraints: "
        'spec.podSets[0].template.spec.containers[0]: Invalid value: ["cpu"]: requests must not be above the '
        "limitRange max; change its requests, or have the LimitRange of Namespace a changed, which may set the limits",
    ),
    "turn": Case(team(work()), f"{A}it waits for its turn"),
}
