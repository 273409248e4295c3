"""A Workload out of its manifest."""

from __future__ import annotations

from scheduling.objects import times
from scheduling.objects.reading import read_workload
from scheduling.objects.template import template
from scheduling.objects.workload import Admission, Condition, PodSetAdmission, RequeueState, Workload
from tests.scheduling.manifests import CREATED, condition, manifest, pod_set, workload

BOOST = "kueue.x-k8s.io/priority-boost"


def test_a_bare_workload_is_active_queueable_and_of_priority_0() -> None:
    bare = workload()

    assert (bare.key, bare.queue, bare.created) == ("ns/w", "q", times.parse(CREATED))
    assert (bare.priority, bare.active, bare.queueable, bare.reserved, bare.counts) == (0, True, True, False, False)
    assert bare.conditions == {}


def test_an_admission_has_flavors_usage_and_count() -> None:
    entry = {"name": "main", "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "1500m"}, "count": 3}
    status = {"admission": {"clusterQueue": "cq", "podSetAssignments": [entry]}, "conditions": [condition("Admitted")]}

    read = workload(status=status)

    assert read.admission == Admission("cq", (PodSetAdmission("main", {"cpu": "spot"}, {"cpu": 1500}, 3),))
    assert read.conditions["Admitted"] == Condition("True", since=times.parse(CREATED))
    assert read.admitted


def test_a_deactivated_workload_counts_while_it_has_reserved_quota() -> None:
    held = [condition("QuotaReserved")]

    assert workload(status={"conditions": held}).counts
    assert workload(status={"conditions": held}, spec={"active": False}).counts
    assert not workload(status={"conditions": [*held, condition("Finished")]}).counts
    assert not workload(status={"conditions": [condition("QuotaReserved", "False")]}).counts


def test_a_workload_on_hold_does_not_queue() -> None:
    held = workload(status={"conditions": [condition("QuotaReserved", "False", "OnHold")]})

    assert (held.on_hold, held.queueable) == (True, False)
    assert workload(status={"conditions": [condition("QuotaReserved", "False", "Pending")]}).queueable


def test_the_priority_boost_must_be_a_32_bit_integer() -> None:
    def boosted(value: str) -> int:
        noted = manifest(spec={"priority": 100}, annotations={BOOST: value})
        assert read_workload(noted).priority == 100
        return read_workload(noted, boosted=True).priority

    assert [boosted(value) for value in ("5", "-200", "+7", "", "x", "1_0", "2147483648", "9" * 5000, "٣")] == [
        105,
        -100,
        107,
        100,
        100,
        100,
        100,
        100,
        100,
    ]


def test_templates_that_differ_only_in_ignored_fields_are_one_object() -> None:
    first = workload(pod_set(cpu="1", spec={"nodeSelector": {"a": "b"}, "volumes": [{"name": "v"}]}))
    second = workload(pod_set(cpu="1000m", spec={"nodeSelector": {"a": "b"}, "hostname": "h"}))
    third = workload(pod_set(cpu="1", spec={"nodeSelector": {"a": "c"}}))

    assert first.pod_sets[0].template is second.pod_sets[0].template
    assert first.pod_sets[0].template != third.pod_sets[0].template
    assert first.pod_sets[0].template.node_selector == {"a": "b"}


def test_a_template_keeps_the_fields_that_select_flavors() -> None:
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    spec = {
        "affinity": {"nodeAffinity": terms},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "nodeSelector": {"zone": "a"},
        "resourceClaims": [{}],
    }
    made = template({**spec, "hostname": "h"})

    assert spec == made.spec
    assert made.claims


def test_a_missing_requeue_time_is_zero() -> None:
    assert workload(status={"requeueState": {"count": 2}}).requeue == RequeueState(2, 0)
    assert workload(status={}).requeue is None


def test_allowed_flavors_are_separated_by_commas() -> None:
    note = "kueue.x-k8s.io/workload-allowed-resource-flavors"

    assert workload(annotations={note: "a, b"}).allowed_flavors == ("a", "b")
    assert workload().allowed_flavors is None


def test_a_malformed_manifest_is_read_with_defaults() -> None:
    nonsense = {"metadata": 3, "spec": {"podSets": ["x", {"count": -1}], "priority": "1"}, "status": {"conditions": 5}}

    read = read_workload(nonsense)

    assert isinstance(read, Workload)
    assert [(pod_set.name, pod_set.count) for pod_set in read.pod_sets] == [("main", 1), ("main", 0)]
    assert (read.key, read.priority, read.conditions) == ("/", 0, {})


def test_times_are_read_and_written_as_in_kubernetes() -> None:
    moment = times.parse("2025-01-01T00:00:00.5+01:00")

    assert times.written(moment) == "2024-12-31T23:00:00Z"
    assert moment % times.SECOND == times.SECOND // 2
    assert [times.parse(text) for text in (None, "", "soon", "2025-01-01T00:00:00", "0001-01-01T00:00:00Z")] == [0] * 5


def test_a_time_out_of_range_is_written_as_the_last_one() -> None:
    assert times.written(10**30) == "9999-12-31T23:59:59Z"
