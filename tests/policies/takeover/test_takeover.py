"""Take-over and give-back on a cluster in memory: the order of steps, a kill at any write, and the final state."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import yaml

from policies.dialects.selectors import NAME_OF_NAMESPACE
from policies.takeover.objects import CONVERSION_BEFORE, ObjectRef, ref_of, replaced, replicas
from policies.takeover.taking import INJECTED
from policies.text.yaml_values import single
from tests.kueue_installation import CONFIGURATION, CONVERTED, OUR_CA, definitions, everything, kueue, quotree
from tests.policies.takeover.memory import NAMES, Killed, Memory, carried_out
from tests.policies.takeover.moves import asked, converts, giving, kueues, served, taking
from tests.profiles import each_case, spread

VISIBLE = ("v1beta1.visibility.kueue.x-k8s.io", "v1beta2.visibility.kueue.x-k8s.io")
MAPS = (NAMES.configuration, NAMES.settings)


def taken() -> Memory:
    memory = Memory()
    assert carried_out(memory, taking).refusals == ()
    return memory


def test_plan_lists_every_step_and_changes_nothing() -> None:
    memory = Memory()
    before = deepcopy(memory.objects)

    plan = taking(memory.found())

    assert memory.objects == before
    assert plan.refusals == ()
    assert [step.title for step in plan.steps] == [
        "remove the APIService of Quotree's reconciler until it runs again: v1alpha1.visibility.quotree.dev",
        "stop Quotree's reconciler until it has Kueue's Configuration",
        "write Kueue's Configuration into ConfigMap quotree-system/quotree-reconciler",
        "stop the API server from calling Kueue's webhooks",
        f"remove the visibility APIServices, which Kueue's manager serves: {', '.join(VISIBLE)}",
        "scale Deployment kueue-system/kueue-controller-manager to 0",
        f"let Quotree's webhook convert between v1beta1 and v1beta2: {', '.join(CONVERTED)}",
        "wait until Kueue's manager has ended",
        "start Deployment quotree-system/quotree-reconciler with 2 replicas",
        "restore the APIService of Quotree's reconciler",
    ]


def test_take_over_stops_kueue_and_copies_its_configuration() -> None:
    memory = taken()

    assert replicas(memory.objects[NAMES.manager]) == 0
    assert replicas(memory.objects[NAMES.reconciler]) == 2
    assert not any(asked(memory.objects[ref]) for ref in NAMES.kueue_webhooks)
    assert converts(memory) == {("quotree-system", OUR_CA)}
    assert served(memory) == {"quotree-system"}
    assert single(memory.objects[NAMES.configuration]["data"]["configuration.yaml"]) == {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "clientConnection": {"qps": 50, "burst": 100},
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod"]},
        "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
    }


def test_fractions_and_numeric_strings_of_the_configuration_are_kept() -> None:
    text = 'admissionFairSharing: {resourceWeights: {cpu: 0.5}}\nmultiKueue: {origin: "1e3"}\n'
    memory = Memory([*kueue(written=CONFIGURATION + text), *definitions(), *quotree()])

    assert carried_out(memory, taking).refusals == ()
    written = single(memory.objects[NAMES.configuration]["data"]["configuration.yaml"])
    assert {key: written[key] for key in single(text)} == single(text)


def test_keys_of_the_kueue_configuration_left_out_are_listed_with_a_reason() -> None:
    notes = " ".join(taking(Memory().found()).notes)

    left_out = (
        "health",
        "metrics.bindAddress",
        "webhook",
        "controller",
        "leaderElection.resourceName",
    )
    assert all(f"{key} is left out: " in notes for key in left_out)
    assert "appwrapper is left out: the cluster does not serve workload.codeflare.dev" in notes


def test_kueue_and_quotree_never_decide_at_the_same_time() -> None:
    def seen(memory: Memory) -> None:
        ours = memory.objects[NAMES.reconciler]
        alone = not memory.pods.get(NAMES.manager)
        if replicas(ours) and ours["spec"]["template"]["metadata"].get("annotations"):
            assert alone, "the reconciler starts with Kueue's Configuration while Kueue's manager is at work"
        if not replicas(memory.objects[NAMES.manager]):
            assert not any(asked(memory.objects[ref]) for ref in NAMES.kueue_webhooks), "new work would be refused"
            assert "kueue-system" not in served(memory), "namespaces could not be deleted"

    memory = Memory()
    carried_out(memory, taking, seen)
    carried_out(memory, giving, seen)


def test_give_back_restores_every_object() -> None:
    memory = Memory()
    before = kueues(memory)
    maps = {ref: memory.bare()[ref] for ref in MAPS}

    carried_out(memory, taking)
    assert kueues(memory) != before
    plan = carried_out(memory, giving)

    assert plan.refusals == ()
    assert kueues(memory) == before
    assert {ref: memory.bare()[ref] for ref in MAPS} == maps
    assert replicas(memory.objects[NAMES.reconciler]) == 0, "so that it never decides beside Kueue by its old file"
    assert giving(memory.found()).steps == ()


def test_api_service_is_removed_while_the_reconciler_is_stopped() -> None:
    """An APIService without a server blocks the deletion of all namespaces."""

    def seen(memory: Memory) -> None:
        assert replicas(memory.objects[NAMES.reconciler]) or "quotree-system" not in served(memory)

    memory = Memory()
    carried_out(memory, taking, seen)
    whole = memory.bare()
    assert served(memory) == {"quotree-system"}

    carried_out(memory, giving, seen)
    assert served(memory) == {"kueue-system"}

    carried_out(memory, taking, seen)
    assert memory.bare() == whole


def test_give_back_restores_api_services_that_name_another_service() -> None:
    memory = Memory()
    before = kueues(memory)
    carried_out(memory, taking)
    for name in VISIBLE:
        stored = before[ObjectRef("APIService", name)]
        elsewhere = {**stored["spec"], "service": {"name": "shim", "namespace": "tools"}}
        memory.store({**stored, "spec": elsewhere})

    carried_out(memory, giving)

    assert kueues(memory) == before


def test_cert_manager_annotation_follows_the_conversion_webhook() -> None:
    def injected(memory: Memory) -> set[str]:
        found = [each for ref, each in memory.objects.items() if ref.kind == "CustomResourceDefinition"]
        return {each["metadata"].get("annotations", {}).get(INJECTED, "") for each in found}

    memory = Memory()
    for ref, each in memory.objects.items():
        if ref.kind == "CustomResourceDefinition" and "webhook" in each["spec"]["conversion"]:
            each["metadata"]["annotations"] = {INJECTED: "kueue-system/kueue-serving-cert"}
    memory.objects[NAMES.validating]["metadata"]["annotations"] = {INJECTED: "quotree-system/quotree-webhook"}
    before = kueues(memory)
    carried_out(memory, taking)
    assert injected(memory) == {"", "quotree-system/quotree-webhook"}

    carried_out(memory, giving)
    assert kueues(memory) == before


def newer(image: str = "kueue:v0.20.0") -> list[dict[str, Any]]:
    """Kueue 0.20: its definitions have one version, and nothing converts them."""
    made = [*kueue(image), *definitions(), *quotree()]
    for each in made:
        if each["kind"] == "CustomResourceDefinition":
            each["spec"]["conversion"] = {"strategy": "None"}
    return made


def test_take_over_and_give_back_work_with_kueue_0_20() -> None:
    memory = Memory(newer())
    before = kueues(memory)

    assert carried_out(memory, taking).refusals == ()
    assert replicas(memory.objects[NAMES.manager]) == 0
    assert replicas(memory.objects[NAMES.reconciler]) == 2
    assert all(step.done for step in taking(memory.found()).steps)

    assert carried_out(memory, giving).refusals == ()
    assert kueues(memory) == before


def test_an_upgrade_of_kueue_while_quotree_has_the_cluster_is_followed() -> None:
    """With its definitions, image and replicas; then the cluster is taken again, and given back to the new Kueue."""
    memory, after = taken(), newer()
    for each in after:
        ref = ref_of(each)
        if ref == NAMES.manager or ref.kind == "CustomResourceDefinition":
            notes = memory.objects[ref]["metadata"].get("annotations")
            memory.store({**memory.objects[ref], **each, "metadata": {**each["metadata"], "annotations": notes}})
    memory.run()
    assert memory.pods[NAMES.manager] == 2

    plan = taking(memory.found())
    assert not plan.steps[0].done, "the reconciler takes up the gates and defaults of the new version"
    assert carried_out(memory, taking).refusals == ()
    assert replicas(memory.objects[NAMES.manager]) == 0
    assert replicas(memory.objects[NAMES.reconciler]) == 2

    assert carried_out(memory, giving).refusals == ()
    new = [memory.objects[ref_of(each)] for each in after if each["kind"] == "CustomResourceDefinition"]
    assert [each["spec"]["conversion"] for each in new] == [{"strategy": "None"}] * len(new)
    assert not any(CONVERSION_BEFORE in (each["metadata"].get("annotations") or {}) for each in new)
    assert replicas(memory.objects[NAMES.manager]) == 2


def test_take_over_is_idempotent() -> None:
    memory = taken()
    memory.history.clear()

    plan = carried_out(memory, taking)

    assert all(step.done for step in plan.steps)
    assert memory.history == []


def test_take_over_continues_after_being_killed_at_any_write() -> None:
    whole = taken().bare()
    writes = len(taken().history)
    for lives in spread(range(writes), 1.2):
        memory = Memory(lives=lives)
        with pytest.raises(Killed):
            carried_out(memory, taking)
        memory.lives = None
        carried_out(memory, taking)
        assert memory.bare() == whole, f"killed after {lives} writes"


def test_give_back_continues_after_being_killed_at_any_write() -> None:
    done = taken()
    done.history.clear()
    carried_out(done, giving)
    for lives in spread(range(len(done.history)), 1.2):
        memory = taken()
        memory.lives = lives
        with pytest.raises(Killed):
            carried_out(memory, giving)
        memory.lives = None
        carried_out(memory, giving)
        assert memory.bare() == done.bare(), f"killed after {lives} writes"


def test_give_back_of_a_partial_take_over_restores_the_kueue_objects() -> None:
    before = kueues(Memory())
    for lives in spread(range(len(taken().history)), 1.2):
        memory = Memory(lives=lives)
        with pytest.raises(Killed):
            carried_out(memory, taking)
        memory.lives = None
        memory.run()
        carried_out(memory, giving)
        assert kueues(memory) == before, f"given back after {lives} writes"


def test_second_take_over_after_a_give_back_has_the_same_result() -> None:
    memory = taken()
    whole = memory.bare()
    carried_out(memory, giving)
    carried_out(memory, taking)

    assert memory.bare() == whole


def test_edited_configuration_is_not_overwritten() -> None:
    memory = taken()
    memory.objects[NAMES.configuration]["data"]["configuration.yaml"] = "edited"

    carried_out(memory, taking)

    assert memory.objects[NAMES.configuration]["data"]["configuration.yaml"] == "edited"


def test_kueue_manager_with_0_replicas_is_given_back_with_0_replicas() -> None:
    memory = Memory()
    memory.objects[NAMES.manager]["spec"]["replicas"] = 0
    memory.run()
    carried_out(memory, taking)
    carried_out(memory, giving)

    assert replicas(memory.objects[NAMES.manager]) == 0


def without(name: str) -> list[dict[str, Any]]:
    return [each for each in everything() if each["metadata"]["name"] != name]


def hookless(kind: str, name: str) -> list[dict[str, Any]]:
    made = everything()
    for each in made:
        if each["kind"] == kind and each["metadata"]["name"].startswith("quotree"):
            each["webhooks"] = [hook for hook in each["webhooks"] if hook["name"] != f"{name}.quotree.dev"]
    return made


def reworded(old: str, new: str) -> list[dict[str, Any]]:
    return deepcopy([*kueue(written=CONFIGURATION.replace(old, new)), *definitions(), *quotree()])


KUEUE_KEYS = "  manageJobs: true\n  managePods: true\n"
APP_WRAPPER = "    - workload.codeflare.dev/appwrapper\n"
OTHER = "system:serviceaccount:batch:other"
PARTS_OF_DEVICES = (
    "{name: a, deviceClassNames: [b], sources: "
    "[{counter: {name: m, driver: d, deviceSelector: {cel: {expression: 'true'}}}}]}"
)
REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no manager": (without("kueue-controller-manager"), "say where Kueue is"),
    "no reconciler": (without("quotree-reconciler"), "apply manifests/with-reconciler first"),
    "no webhook configuration": (without("quotree-mutate"), "quotree-mutate is missing"),
    "an older Kueue": (
        [*kueue("kueue:v0.17.1"), *definitions(), *quotree()],
        "is Kueue 0.17.1: only 0.19 and 0.20 can be taken over",
    ),
    "a newer Kueue": (
        [*kueue("kueue:v0.21.0"), *definitions(), *quotree()],
        "is Kueue 0.21.0: only 0.19 and 0.20 can be taken over",
    ),
    "settings for another version": (
        [*kueue("kueue:v0.20.1"), *definitions(), *quotree(f"{KUEUE_KEYS}kueueVersion: '0.19'\n")],
        'has kueueVersion: "0.19", and Kueue is 0.20.1: set it to "0.20", or remove it',
    ),
    "a gate that 0.20 removed": (
        [*kueue("kueue:v0.20.0", f"{CONFIGURATION}featureGates: {{HierarchicalCohorts: true}}\n"), *quotree()],
        'remove the line, or set kueueVersion: "0.19"',
    ),
    "a gate that 0.19 does not have": (
        reworded("fairSharing:", "featureGates: {DeploymentJobUIDLabel: true}\nfairSharing:"),
        "gates are judged for Kueue 0.19, and it exists in 0.20",
    ),
    "a Kueue of no version": ([*kueue("kueue:main"), *definitions(), *quotree()], "of an unknown version"),
    "a kind is not suspended": (
        [*kueue(), *definitions(), *quotree(f"{KUEUE_KEYS}  frameworks: [batch/job, pod]\n")],
        "new jobs of jobset.x-k8s.io/jobset would start unsuspended",
    ),
    "jobs are not suspended": ([*kueue(), *definitions(), *quotree("  managePods: true\n")], "kueue.manageJobs: true"),
    "Pods are not held": ([*kueue(), *definitions(), *quotree("  manageJobs: true\n")], "kueue.managePods: true"),
    "Pods that Kueue does not queue are held": (
        reworded("    - pod\n", ""),
        "Kueue queues no Pods: those with a queue",
    ),
    "jobs without a queue are suspended, which Kueue does not do": (
        [*kueue(), *definitions(), *quotree(f"{KUEUE_KEYS}  manageJobsWithoutQueueName: true\n")],
        "has kueue.manageJobsWithoutQueueName: true, and Kueue does not",
    ),
    "no webhook for Pods": (hookless("MutatingWebhookConfiguration", "kueue-pods"), "add manifests/components/pods"),
    "no webhook for jobs": (hookless("MutatingWebhookConfiguration", "kueue-jobs"), "apply manifests/base again"),
    "a kind that is served": (reworded("jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob"), "TrainJob"),
    "a kind of another controller": (
        reworded("integrations:", "integrations:\n  externalFrameworks: [Train.v1.example.com]"),
        "'Train.v1.example.com' is not described",
    ),
    "no kind that is served": (
        reworded(CONFIGURATION[CONFIGURATION.index("    - batch") : CONFIGURATION.index("fairSharing:")], APP_WRAPPER),
        "the cluster serves no kind of integrations.frameworks",
    ),
    "times that contradict each other": (
        reworded("  leaderElect: true", "  leaseDuration: 5s"),
        "each must be shorter than the next",
    ),
    "another account": (
        [*kueue(), *definitions(), *quotree(f"  manageJobs: true\n  managePods: true\n  admittingUsers: [{OTHER}]\n")],
        "lacks system:serviceaccount:kueue-system:kueue-controller-manager under kueue.admittingUsers",
    ),
    "an unknown key": (reworded("fairSharing:", "fairShare:"), "fairShare: unknown key"),
    "a refused key": (
        reworded("fairSharing:", f"resources: {{deviceClassMappings: [{PARTS_OF_DEVICES}]}}\nfairSharing:"),
        "the reconciler does not count parts of devices yet",
    ),
    "a text that is none": (reworded("health:", "health: ["), "it cannot be read"),
    "another gate": (reworded("health:", "featureGates: {PartialAdmission: false}\nhealth:"), "PartialAdmission"),
}


@each_case("case", REFUSED)
def test_take_over_is_refused_if_a_requirement_is_missing(case: str) -> None:
    objects, said = REFUSED[case]
    memory = Memory(deepcopy(objects))
    memory.groups |= {"trainer.kubeflow.org"}

    plan = carried_out(memory, taking)

    assert any(said in refusal for refusal in plan.refusals), plan.refusals
    assert plan.steps == ()
    assert memory.history == []


def test_take_over_is_refused_if_the_webhook_is_not_ready() -> None:
    memory = Memory()
    memory.objects[NAMES.webhook]["status"]["availableReplicas"] = 1

    assert taking(memory.found()).refusals == (
        "Deployment quotree-system/quotree-webhook does not serve: 1 of 3 replicas are ready",
    )


def test_work_on_other_clusters_needs_a_reconciler_that_follows_them() -> None:
    memory = Memory()
    container = memory.objects[NAMES.reconciler]["spec"]["template"]["spec"]["containers"][0]
    container["args"] = ["--feature-gates=MultiKueue=false"]
    memory.other_clusters = True
    (refusal,) = taking(memory.found()).refusals
    container["args"] += ["--feature-gates=MultiKueue=true"]

    assert "apply manifests/with-multikueue" in refusal
    assert taking(memory.found()).refusals == ()


def test_take_over_requires_webhook_selectors_that_exclude_unmanaged_namespaces() -> None:
    selector = """managedJobsNamespaceSelector:
  matchLabels: {team: research}
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kueue-system, monitoring]}
health:"""
    memory = Memory(reworded("health:", selector))
    hooks = [hook for ref in (NAMES.mutating, NAMES.validating) for hook in memory.objects[ref]["webhooks"]]

    refusals = taking(memory.found()).refusals
    for hook in hooks:
        wanted = hook.setdefault("namespaceSelector", {})
        wanted["matchLabels"] = {"team": "research"}
        name = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["quotree-system", "monitoring"]}
        wanted["matchExpressions"] = [name]

    assert [refusal.split(": ")[1].split(" ")[0] for refusal in refusals] == [
        f"kueue-{name}.quotree.dev" for name in ("jobs", "other-jobs", "templates", "pods", "default-pods", "jobs")
    ]
    assert "add team In (research), kubernetes.io/metadata.name NotIn (monitoring) to its" in refusals[0]
    assert taking(memory.found()).refusals == ()


def test_webhooks_may_read_the_namespaces_in_their_own_configuration() -> None:
    memory = Memory(reworded("health:", "managedJobsNamespaceSelector: {matchLabels: {team: research}}\nhealth:"))
    settings = memory.objects[NAMES.settings]["data"]
    own = yaml.safe_load(settings["configuration.yaml"])
    assert "kueue.managedJobsNamespaceSelector to" in taking(memory.found()).refusals[0]
    own["kueue"]["managedJobsNamespaceSelector"] = {"matchLabels": {"team": "research"}}
    settings["configuration.yaml"] = yaml.safe_dump(own)

    assert taking(memory.found()).refusals == ()


def test_namespaces_may_be_excluded_by_webhook_selectors_and_by_the_configuration() -> None:
    def without(*names: str) -> str:
        return f"{{matchExpressions: [{{key: {NAME_OF_NAMESPACE}, operator: NotIn, values: [{', '.join(names)}]}}]}}"

    kueues = without("kube-system", "kueue-system", "dev", "monitoring")
    memory = Memory(reworded("health:", f"managedJobsNamespaceSelector: {kueues}\nhealth:"))
    settings = memory.objects[NAMES.settings]["data"]
    settings["configuration.yaml"] += f"  managedJobsNamespaceSelector: {without('monitoring')}\n"
    assert "add kubernetes.io/metadata.name NotIn (dev) to its" in taking(memory.found()).refusals[0]
    for ref in (NAMES.mutating, NAMES.validating):
        for hook in memory.objects[ref]["webhooks"]:
            hook["namespaceSelector"] = single(without("dev"))

    assert taking(memory.found()).refusals == ()


def test_take_over_requires_manage_jobs_without_queue_name_in_the_webhook_configuration() -> None:
    memory = Memory(reworded("health:", "manageJobsWithoutQueueName: true\nhealth:"))
    settings = memory.objects[NAMES.settings]["data"]
    own = yaml.safe_load(settings["configuration.yaml"])
    assert "lacks kueue.manageJobsWithoutQueueName: true" in taking(memory.found()).refusals[0]
    own["kueue"]["manageJobsWithoutQueueName"] = True
    settings["configuration.yaml"] = yaml.safe_dump(own)

    assert taking(memory.found()).refusals == ()


def test_missing_integrations_are_set_to_the_default_of_kueue() -> None:
    section = CONFIGURATION[CONFIGURATION.index("integrations:") : CONFIGURATION.index("fairSharing:")]
    theirs = [*kueue(written=CONFIGURATION.replace(section, "")), *definitions()]
    (refusal,) = taking(Memory([*theirs, *quotree("  manageJobs: true\n")]).found()).refusals
    assert "Kueue does not queue jobset.x-k8s.io/jobset, and " in refusal
    assert " suspends those that name a queue: " in refusal
    assert "set kueue.frameworks: [batch/job] in" in refusal

    memory = Memory([*theirs, *quotree("  manageJobs: true\n  frameworks: [batch/job]\n")])
    plan = carried_out(memory, taking)

    assert plan.refusals == ()
    written = single(memory.objects[NAMES.configuration]["data"]["configuration.yaml"])
    assert "integrations.frameworks is set to Kueue's default: batch/job" in plan.notes
    assert written["integrations"] == {"frameworks": ["batch/job"]}


@pytest.mark.parametrize(
    "flags",
    [
        ["--feature-gates=PrioritySortingWithinCohort=false"],
        ["--feature-gates", "PrioritySortingWithinCohort=false"],
        ["-feature-gates=PrioritySortingWithinCohort=F"],
        ["--feature-gates=PrioritySortingWithinCohort=true", "--feature-gates= PrioritySortingWithinCohort = 0,"],
    ],
)
def test_feature_gates_of_the_managers_flag_count_in_every_form_that_go_accepts(flags: list[str]) -> None:
    assert gates_taken(flags) == {"PrioritySortingWithinCohort": False}


def test_feature_gates_flag_accepts_all_boolean_forms_of_go() -> None:
    gates = {"TASProfileMixed": True, "FlavorFungibility": True}
    assert gates_taken(["--feature-gates", "TASProfileMixed=1, FlavorFungibility= T"]) == gates


def gates_taken(flags: list[str]) -> dict[str, bool]:
    """The gates that the reconciler gets from a manager with these flags."""
    memory = Memory()
    memory.objects[NAMES.manager]["spec"]["template"]["spec"]["containers"][0]["args"] += flags
    assert carried_out(memory, taking).refusals == ()
    return single(memory.objects[NAMES.configuration]["data"]["configuration.yaml"]).get("featureGates")


def test_give_back_notes_pods_with_gates_that_nothing_would_remove() -> None:
    memory = taken()
    quiet = giving(memory.found()).notes
    memory.objects[NAMES.reconciler]["spec"]["template"]["spec"]["containers"][0]["args"] = ["--gates=yunikorn"]
    gated = giving(memory.found()).notes

    assert gated[:-1] == quiet
    assert "take manifests/components/yunikorn-gates out first" in gated[-1]


def test_give_back_without_a_take_over_does_nothing() -> None:
    memory = Memory()

    plan = carried_out(memory, giving)

    assert plan.notes == ("Quotree has not taken over from Kueue here",)
    assert memory.history == []


def test_take_over_and_give_back_are_refused_while_a_shard_reconciler_runs() -> None:
    """The steps stop and configure one Deployment. Another reconciler would decide once Kueue's manager has stopped."""
    shard = deepcopy(Memory().objects[NAMES.reconciler])
    shard["metadata"]["name"] += "-batch"
    memory = Memory([*everything(), shard])
    ref = ref_of(shard)
    said = f"{ref} runs the reconciler of a shard"

    for move in (taking, giving):
        memory.store(replaced(memory.objects[ref], "spec.replicas", 2))
        if move is giving:
            assert taking(memory.found()).refusals == ()  # after the move it may run
        before = [*memory.history]
        assert [each.startswith(said) for each in carried_out(memory, move).refusals] == [True]
        assert memory.history == before

        memory.store(replaced(memory.objects[ref], "spec.replicas", 0))
        assert carried_out(memory, move).refusals == ()
        assert memory.history != before


def test_give_back_is_refused_if_the_kueue_manager_is_missing() -> None:
    memory = taken()
    del memory.objects[NAMES.manager]

    assert "is missing: install it again" in giving(memory.found()).refusals[0]


@pytest.mark.parametrize("written", [None, "{", '"{}"', "[1]", '{"conversion": 1}'])
def test_give_back_is_refused_if_the_previous_conversion_is_unknown(written: str | None) -> None:
    memory = taken()
    definition = memory.objects["CustomResourceDefinition", "workloads.kueue.x-k8s.io", ""]
    definition["metadata"]["annotations"] = {CONVERSION_BEFORE: written} if written else {}
    memory.history.clear()

    plan = carried_out(memory, giving)

    assert "apply Kueue's definitions again" in plan.refusals[0]
    assert memory.history == []
