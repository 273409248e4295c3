"""Manifests with the fields that their structure check refuses; the real API server must refuse the same manifests."""

from __future__ import annotations

from typing import Any

from policies.model.objects import Defect

Manifest = dict[str, Any]

TEMPLATE = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
NOW = "2025-01-01T00:00:00Z"


def manifest(api_version: str, kind: str, spec: Any = None, **more: Any) -> Manifest:
    found: Manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "example"}} | more
    return found if spec is None else found | {"spec": spec}


def queue(**spec: Any) -> Manifest:
    return manifest("scheduling.volcano.sh/v1beta1", "Queue", spec)


def pod_group(**spec: Any) -> Manifest:
    return manifest("scheduling.volcano.sh/v1beta1", "PodGroup", spec)


def job(**spec: Any) -> Manifest:
    return manifest("batch.volcano.sh/v1alpha1", "Job", spec)


def cohort(**spec: Any) -> Manifest:
    return manifest("kueue.x-k8s.io/v1beta2", "Cohort", spec)


def cluster_queue(**spec: Any) -> Manifest:
    return manifest("kueue.x-k8s.io/v1beta2", "ClusterQueue", spec)


def local_queue(**spec: Any) -> Manifest:
    return manifest("kueue.x-k8s.io/v1beta2", "LocalQueue", spec)


def flavor(**spec: Any) -> Manifest:
    return manifest("kueue.x-k8s.io/v1beta2", "ResourceFlavor", spec)


def kueue(kind: str, **spec: Any) -> Manifest:
    return manifest("kueue.x-k8s.io/v1beta2", kind, spec)


def of_new_nodes(*keys: str) -> Manifest:
    """A ProvisioningRequestConfig that selects new nodes by these labels."""
    entries = [{"key": key, "valueFromProvisioningClassDetail": "d"} for key in keys]
    return kueue("ProvisioningRequestConfig", provisioningClassName="c", podSetUpdates={"nodeSelector": entries})


def workload(*pod_sets: Any, **spec: Any) -> Manifest:
    return manifest("kueue.x-k8s.io/v1beta2", "Workload", {"podSets": list(pod_sets)} | spec)


def named(**metadata: Any) -> Manifest:
    return queue() | {"metadata": metadata}


def group(*flavors: str, **quota: Any) -> Manifest:
    resource = {"name": "cpu", "nominalQuota": "1"} | quota
    return {"coveredResources": ["cpu"], "flavors": [{"name": name, "resources": [resource]} for name in flavors]}


def template(**container: Any) -> Manifest:
    return {"template": {"spec": {"containers": [container]}}}


def check_names(*names: str) -> Manifest:
    return {"admissionChecks": [{"name": name} for name in names]}


TRY_NEXT = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
FLAVORS = "spec.resourceGroups[0].flavors"
POD_SET = "spec.podSets[0]"
KUEUE = "kueue.x-k8s.io/v1beta2"
HOSTNAME = "kubernetes.io/hostname"
LEVEL = "spec.levels[0].nodeLabel"
PARAMETERS = {"apiGroup": "a.example", "kind": "Check", "name": "c"}
PARAMETER = "spec.parameters.name"

ACCEPTED: list[tuple[str, Manifest]] = [
    ("empty queue", queue()),
    ("no spec", manifest("kueue.x-k8s.io/v1beta2", "Cohort")),
    ("null spec", queue() | {"spec": None}),
    ("generated name", named(generateName="team-")),
    ("empty name beside a generated one", named(name="", generateName="team-")),
    ("label without value", named(name="q", labels={"a.example/b": ""}, annotations={"A.Example/b": "any text\n"})),
    ("label that is null", named(name="q", labels={"a": None})),
    ("null for an optional field", queue(parent=None, weight=None, reclaimable=None)),
    ("null among quantities", queue(capability={"cpu": None})),
    (
        "every way to write a quantity",
        queue(capability={"a": 1, "b": "1.5", "c": "-1", "d": "1e3", "e": "2Gi", "f": ".5"}),
    ),
    ("bounds of weight", queue(weight=65535, priority=2**31 - 1)),
    ("longest parent", queue(parent=".".join(["a" * 63] * 3 + ["b" * 61]))),
    (
        "every field of a queue",
        queue(
            weight=2,
            capability={"cpu": 4},
            deserved={"cpu": 2},
            guarantee={"resource": {"cpu": 1}},
            reclaimable=False,
            parent="root",
            priority=0,
            dequeueStrategy="fifo",
            type="any",
            extendClusters=[{"name": "c", "weight": 1}],
            affinity={"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["g"]}},
            dra={"capability": {"gpu.example": {"count": 2, "capacity": {"memory": "1Gi"}}}},
        ),
    ),
    ("pod group", pod_group(minMember=2, queue="team", minResources={"cpu": "2"}, minTaskMember={"worker": 2})),
    (
        "job",
        job(
            queue="team",
            minAvailable=1,
            tasks=[{"name": "w", "replicas": 2, "template": TEMPLATE}],
            plugins={"svc": []},
            policies=[{"event": "PodEvicted", "action": "RestartJob"}],
        ),
    ),
    ("task without a template", job(tasks=[{"replicas": 1}])),
    ("cohort", cohort(parentName="org", resourceGroups=[group("spot", lendingLimit=0)], fairSharing={"weight": "0.5"})),
    (
        "cluster queue",
        cluster_queue(
            cohortName="org",
            resourceGroups=[group("spot", "demand", borrowingLimit="2")],
            namespaceSelector={},
            queueingStrategy="StrictFIFO",
            stopPolicy="Hold",
            flavorFungibility=TRY_NEXT | {"preference": "PreemptionOverBorrowing"},
            preemption={"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}},
            admissionChecksStrategy={"admissionChecks": [{"name": "capacity", "onFlavors": ["spot"]}]},
            admissionScope={"admissionMode": "NoAdmissionFairSharing"},
            concurrentAdmissionPolicy={"migration": {"mode": "RetainFirstAdmission"}},
        ),
    ),
    ("64 flavors", cluster_queue(resourceGroups=[group(*(f"f{number}" for number in range(64)))])),
    (
        "preference with one default",
        cluster_queue(flavorFungibility={"whenCanBorrow": "TryNextFlavor", "preference": "BorrowingOverPreemption"}),
    ),
    (
        "null for a field with a default",
        cluster_queue(flavorFungibility=None, preemption={"reclaimWithinCohort": None}),
    ),
    ("local queue", local_queue(clusterQueue="team", stopPolicy="HoldAndDrain", fairSharing={})),
    ("flavor with a topology", flavor(topologyName="racks", nodeLabels={"pool": "gpu"})),
    (
        "flavor with a taint",
        flavor(
            nodeTaints=[{"key": "spot", "effect": "NoSchedule", "timeAdded": NOW}],
            tolerations=[
                {"operator": "Exists"},
                {"key": "a", "value": "b"},
                {"key": "c", "effect": "NoExecute", "tolerationSeconds": 5},
            ],
        ),
    ),
    (
        "workload",
        workload(
            {"name": "driver", "template": TEMPLATE},
            {"name": "worker", "count": 3, "minCount": 3, "template": TEMPLATE},
            queueName="team",
            active=False,
            priority=-1,
            maximumExecutionTimeSeconds=60,
            preemptionGates=[{"name": "g"}],
            priorityClassRef={"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
        ),
    ),
    ("workload without pod sets", manifest("kueue.x-k8s.io/v1beta2", "Workload", {})),
    ("no pods at all", workload({"count": 0, "template": TEMPLATE})),
    ("a pod set that may go without pods", workload({"count": 2, "minCount": 0, "template": TEMPLATE})),
    ("admission check", kueue("AdmissionCheck", controllerName="a", parameters=PARAMETERS)),
    ("worker clusters", kueue("MultiKueueConfig", clusters=["b", "a"], quotaManagement="Automated")),
    ("worker cluster by profile", kueue("MultiKueueCluster", clusterSource={"clusterProfileRef": {"name": "w"}})),
    ("worker cluster by secret", kueue("MultiKueueCluster", clusterSource={"kubeConfig": {"location": "w"}})),
    ("priority class", manifest(KUEUE, "WorkloadPriorityClass", value=-1, description="low")),
    ("topology", kueue("Topology", levels=[{"nodeLabel": "a.example/Rack"}, {"nodeLabel": HOSTNAME}])),
    ("new nodes", kueue("ProvisioningRequestConfig", provisioningClassName="c", parameters={"a": "b"})),
]

REFUSED: list[tuple[str, Manifest, list[str]]] = [
    ("no metadata", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}, ["metadata"]),
    ("null metadata", queue() | {"metadata": None}, ["metadata"]),
    ("no name", named(), ["metadata.name"]),
    ("empty name", named(name=""), ["metadata.name"]),
    ("upper case name", named(name="Team"), ["metadata.name"]),
    ("upper case generated name", named(generateName="Team-"), ["metadata.generateName"]),
    ("bad label", named(name="q", labels={"a": "b c"}), ["metadata.labels.a"]),
    ("bad label key", named(name="q", labels={"a b": "c"}), ["metadata.labels"]),
    ("number as annotation", named(name="q", annotations={"a": 1}), ["metadata.annotations.a"]),
    ("list as spec", queue() | {"spec": []}, ["spec"]),
    ("weight below its bound", queue(weight=0), ["spec.weight"]),
    ("weight above its bound", queue(weight=65536), ["spec.weight"]),
    ("weight as text", queue(weight="1"), ["spec.weight"]),
    ("negative priority", queue(priority=-1), ["spec.priority"]),
    ("more than 32 bits", queue(priority=2**31), ["spec.priority"]),
    ("more than 64 bits", queue(priority=10**30), ["spec.priority"]),
    ("empty parent", queue(parent=""), ["spec.parent"]),
    ("parent with a newline", queue(parent="root\n"), ["spec.parent"]),
    ("parent of 254 characters", queue(parent="a" * 254), ["spec.parent"]),
    ("unknown strategy", queue(dequeueStrategy="random"), ["spec.dequeueStrategy"]),
    ("text for yes or no", queue(reclaimable="yes"), ["spec.reclaimable"]),
    (
        "faults at several places",
        queue(weight=0, capability={"cpu": "x"}, parent=1),
        ["spec.capability.cpu", "spec.parent", "spec.weight"],
    ),
    ("fraction as quantity", queue(capability={"cpu": 1.5}), ["spec.capability.cpu"]),
    ("truth as quantity", queue(capability={"nvidia.com/gpu": True}), ["spec.capability[nvidia.com/gpu]"]),
    ("huge number as quantity", queue(capability={"cpu": 2**63}), ["spec.capability.cpu"]),
    ("suffix alone", queue(deserved={"cpu": "m"}), ["spec.deserved.cpu"]),
    ("blank in a quantity", queue(guarantee={"resource": {"memory": "1 Gi"}}), ["spec.guarantee.resource.memory"]),
    ("quantity with a newline", queue(capability={"cpu": "1\n"}), ["spec.capability.cpu"]),
    ("empty quantity", queue(capability={"cpu": ""}), ["spec.capability.cpu"]),
    ("list as quantities", queue(capability=["cpu"]), ["spec.capability"]),
    ("null for a required field", queue(dra={"deserved": {"gpu": {"count": None}}}), ["spec.dra.deserved.gpu.count"]),
    ("empty queue name", pod_group(queue=""), ["spec.queue"]),
    ("unknown mode", pod_group(networkTopology={"mode": "medium"}), ["spec.networkTopology.mode"]),
    ("job without tasks", job(tasks=[]), ["spec.tasks"]),
    ("upper case task", job(tasks=[{"name": "W"}]), ["spec.tasks[0].name"]),
    (
        "template without containers",
        job(tasks=[{"template": {"spec": {}}}]),
        ["spec.tasks[0].template.spec.containers"],
    ),
    ("colon in a mount path", job(volumes=[{"mountPath": "a:b"}]), ["spec.volumes[0].mountPath"]),
    ("17 groups", cohort(resourceGroups=[group(f"f{number}") for number in range(17)]), ["spec.resourceGroups"]),
    ("65 flavors", cohort(resourceGroups=[group(*(f"f{number}" for number in range(65)))]), [FLAVORS]),
    ("group without anything", cohort(resourceGroups=[{}]), ["spec.resourceGroups[0].coveredResources", FLAVORS]),
    ("group that is null", cohort(resourceGroups=[None]), ["spec.resourceGroups[0]"]),
    ("flavor twice", cohort(resourceGroups=[group("a", "b", "a")]), [f"{FLAVORS}[2].name"]),
    (
        "flavor without resources",
        cluster_queue(resourceGroups=[{"coveredResources": ["cpu"], "flavors": [{"name": "a"}]}]),
        [f"{FLAVORS}[0].resources"],
    ),
    ("flavor name with an underscore", cluster_queue(resourceGroups=[group("a_b")]), [f"{FLAVORS}[0].name"]),
    (
        "no nominal quota",
        cluster_queue(resourceGroups=[group("a", nominalQuota=None)]),
        [f"{FLAVORS}[0].resources[0].nominalQuota"],
    ),
    ("weight that is no quantity", cohort(fairSharing={"weight": "heavy"}), ["spec.fairSharing.weight"]),
    (
        "old name of a policy",
        cluster_queue(flavorFungibility={"whenCanBorrow": "Borrow"}),
        ["spec.flavorFungibility.whenCanBorrow"],
    ),
    (
        "no admission checks",
        cluster_queue(admissionChecksStrategy=check_names()),
        ["spec.admissionChecksStrategy.admissionChecks"],
    ),
    (
        "admission check twice",
        cluster_queue(admissionChecksStrategy=check_names("a", "a")),
        ["spec.admissionChecksStrategy.admissionChecks[1].name"],
    ),
    (
        "flavor twice in a set",
        cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "a", "onFlavors": ["b", "b"]}]}),
        ["spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]"],
    ),
    (
        "preference without both",
        cluster_queue(flavorFungibility={"preference": "BorrowingOverPreemption"}),
        ["spec.flavorFungibility.preference"],
    ),
    (
        "borrowing without reclaim",
        cluster_queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}),
        ["spec.preemption.borrowWithinCohort.policy"],
    ),
    ("path as cluster queue", local_queue(clusterQueue="org/team"), ["spec.clusterQueue"]),
    ("9 node labels", flavor(nodeLabels={f"l{number}": "" for number in range(9)}), ["spec.nodeLabels"]),
    ("topology without node labels", flavor(topologyName="racks"), ["spec.nodeLabels"]),
    ("topology with a null label", flavor(topologyName="racks", nodeLabels={"a": None}), ["spec.nodeLabels"]),
    ("unknown taint effect", flavor(nodeTaints=[{"key": "a", "effect": ""}]), ["spec.nodeTaints[0].effect"]),
    ("taint without key", flavor(nodeTaints=[{"effect": "NoSchedule"}]), ["spec.nodeTaints[0].key"]),
    (
        "day as time",
        flavor(nodeTaints=[{"key": "a", "effect": "NoSchedule", "timeAdded": "2025-01-01"}]),
        ["spec.nodeTaints[0].timeAdded"],
    ),
    ("toleration of all but by value", flavor(tolerations=[{}]), ["spec.tolerations[0].operator"]),
    (
        "value beside Exists",
        flavor(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        ["spec.tolerations[0].value"],
    ),
    (
        "unknown operator",
        flavor(tolerations=[{"key": "a"}, {"key": "a", "operator": "In"}]),
        ["spec.tolerations[1].operator"],
    ),
    (
        "unknown toleration effect",
        flavor(tolerations=[{"key": "a", "effect": "Never"}]),
        ["spec.tolerations[0].effect"],
    ),
    (
        "seconds without NoExecute",
        flavor(tolerations=[{"key": "a", "tolerationSeconds": 1}]),
        ["spec.tolerations[0].effect"],
    ),
    ("empty list of pod sets", workload(), ["spec.podSets"]),
    (
        "19 pod sets",
        workload(*({"name": f"p{number}", "template": TEMPLATE} for number in range(19))),
        ["spec.podSets"],
    ),
    (
        "two pod sets by the default name",
        workload({"template": TEMPLATE}, {"name": "main", "template": TEMPLATE}),
        ["spec.podSets[1].name"],
    ),
    ("pod set without template", workload({"count": 1}), [f"{POD_SET}.template"]),
    ("upper case pod set", workload({"name": "A", "template": TEMPLATE}), [f"{POD_SET}.name"]),
    ("minCount below 0", workload({"count": 2, "minCount": -1, "template": TEMPLATE}), [f"{POD_SET}.minCount"]),
    ("minCount above count", workload({"count": 2, "minCount": 3, "template": TEMPLATE}), [f"{POD_SET}.minCount"]),
    ("minCount above the default", workload({"minCount": 2, "template": TEMPLATE}), [f"{POD_SET}.minCount"]),
    ("container without name", workload(template(image="a")), [f"{POD_SET}.template.spec.containers[0].name"]),
    (
        "request that is no quantity",
        workload(template(name="a", resources={"requests": {"cpu": "one"}})),
        [f"{POD_SET}.template.spec.containers[0].resources.requests.cpu"],
    ),
    (
        "class without priority",
        workload(
            {"template": TEMPLATE},
            priorityClassRef={"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"},
        ),
        ["spec.priority"],
    ),
    (
        "pod class of the wrong kind",
        workload(
            {"template": TEMPLATE},
            priority=1,
            priorityClassRef={"group": "scheduling.k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
        ),
        ["spec.priorityClassRef.kind"],
    ),
    (
        "workload class of the wrong kind",
        workload(
            {"template": TEMPLATE},
            priority=1,
            priorityClassRef={"group": "kueue.x-k8s.io", "kind": "PriorityClass", "name": "high"},
        ),
        ["spec.priorityClassRef.kind"],
    ),
    (
        "no execution time",
        workload({"template": TEMPLATE}, maximumExecutionTimeSeconds=0),
        ["spec.maximumExecutionTimeSeconds"],
    ),
    ("no controller", kueue("AdmissionCheck", controllerName=""), ["spec.controllerName"]),
    (
        "no parameter name",
        kueue("AdmissionCheck", controllerName="a", parameters=PARAMETERS | {"name": None}),
        [PARAMETER],
    ),
    ("no clusters", kueue("MultiKueueConfig", clusters=[]), ["spec.clusters"]),
    ("cluster twice", kueue("MultiKueueConfig", clusters=["a", "b", "a"]), ["spec.clusters[2]"]),
    ("long cluster name", kueue("MultiKueueConfig", clusters=["a" * 257]), ["spec.clusters[0]"]),
    ("no cluster source", kueue("MultiKueueCluster"), ["spec.clusterSource"]),
    ("no source in it", kueue("MultiKueueCluster", clusterSource={}), ["spec.clusterSource"]),
    (
        "unknown place of a kubeconfig",
        kueue("MultiKueueCluster", clusterSource={"kubeConfig": {"location": "w", "locationType": "Url"}}),
        ["spec.clusterSource.kubeConfig.locationType"],
    ),
    ("no priority", manifest(KUEUE, "WorkloadPriorityClass"), ["value"]),
    ("no levels", kueue("Topology", levels=[]), ["spec.levels"]),
    ("level twice", kueue("Topology", levels=[{"nodeLabel": "a"}, {"nodeLabel": "a"}]), ["spec.levels[1].nodeLabel"]),
    ("nodes not lowest", kueue("Topology", levels=[{"nodeLabel": HOSTNAME}, {"nodeLabel": "a"}]), [LEVEL]),
    ("no class of new nodes", kueue("ProvisioningRequestConfig"), ["spec.provisioningClassName"]),
    ("no label of new nodes", of_new_nodes("no label!"), ["spec.podSetUpdates.nodeSelector[0].key"]),
    ("label of new nodes twice", of_new_nodes("zone", "zone"), ["spec.podSetUpdates.nodeSelector[1].key"]),
]


def fields(found: tuple[Defect, ...]) -> list[str]:
    return [defect.field for defect in found]


def refused(found: tuple[Defect, ...]) -> list[str]:
    """The fields for which an API server refuses the manifest."""
    return [defect.field for defect in found if not defect.warning]
