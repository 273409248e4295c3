"""Jobs are managed in selected namespaces, by the current labels of these."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.configuration.kueue.gates import FeatureGates, KueueVersion
from policies.configuration.kueue.reading import read
from policies.dialects.naming import Naming
from policies.dialects.selectors import read_label_selector
from reconciler.configured import DEFAULTS, read_configured
from reconciler.controllers.jobs.watched_jobs import watched_jobs
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.life import managed
from reconciler.managed_jobs import ManagedJobs, NamespaceSelection, managed_jobs_of
from reconciler.objects.watched import QUEUE_NAME
from scheduling.objects.priority import PriorityClasses
from scheduling.world.world import World
from tests.reconciler.jobs.world import job

BATCHES = ManagedJobs(read_label_selector({"matchLabels": {"batch": "yes"}}), without_queue=True)


def selection(managed_jobs: ManagedJobs = BATCHES) -> tuple[NamespaceSelection, World]:
    world = World()
    return NamespaceSelection(managed_jobs, world), world


def test_without_a_selector_every_namespace_is_selected_even_if_unknown() -> None:
    assert selection(ManagedJobs())[0].selects("ns")


def test_an_unknown_namespace_is_not_selected_and_its_jobs_are_checked_again_later() -> None:
    selected, world = selection()
    assert not selected.selects("ns")
    assert not selected.outdated("ns")

    assert not selected.selects("ns")
    world.put_namespace("ns", {"batch": "yes"})
    assert selected.outdated("ns")
    assert selected.selects("ns")
    assert not selected.outdated("ns")


def test_jobs_are_not_checked_again_for_an_unused_or_unchanged_namespace() -> None:
    selected, world = selection()
    world.put_namespace("ns", {"batch": "yes"})
    assert not selected.outdated("ns")

    assert selected.selects("ns")
    world.put_namespace("ns", {"batch": "yes", "team": "a"})
    assert not selected.outdated("ns")
    assert selected.selects("ns")
    world.put_namespace("ns", {"batch": "no"})
    assert selected.outdated("ns")


def test_a_change_that_selects_nothing_does_not_hide_a_later_one() -> None:
    selected, world = selection()
    world.put_namespace("ns", {"batch": "no"})
    assert not selected.selects("ns")

    world.put_namespace("ns", {"batch": "no", "team": "a"})
    assert not selected.outdated("ns")
    assert not selected.outdated("ns"), "a ClusterQueue or a flavor may have the name of the namespace"
    world.put_namespace("ns", {"batch": "yes", "team": "a"})
    assert selected.outdated("ns")


def test_jobs_are_not_checked_again_for_a_deleted_namespace() -> None:
    selected, world = selection()
    world.put_namespace("ns", {"batch": "yes"})
    assert selected.selects("ns")
    world.drop_namespace("ns")
    assert not selected.outdated("ns")

    assert not selected.selects("ns"), "a job in the next namespace with this name came before it"
    world.put_namespace("ns", {"batch": "yes"})
    assert selected.outdated("ns")


@pytest.mark.parametrize(
    ("labels", "queue", "without_queue", "is_managed"),
    [
        ({"batch": "yes"}, "lq", False, True),
        ({"batch": "yes"}, "", False, False),
        ({"batch": "yes"}, "", True, True),
        ({}, "lq", False, False),
        ({}, "lq", True, False),
        ({}, "", True, False),
    ],
)
def test_a_job_is_managed_in_a_selected_namespace_with_a_queue_or_if_none_is_needed(
    labels: dict[str, str], queue: str, without_queue: bool, is_managed: bool
) -> None:
    selected, world = selection(replace(BATCHES, without_queue=without_queue))
    submitted = job()
    submitted["metadata"]["labels"] = {QUEUE_NAME: queue} if queue else {}
    world.put_namespace(submitted["metadata"]["namespace"], labels)

    assert managed(BATCH, submitted, selected.inputs(PriorityClasses(), pods_ready=False)) == is_managed


def test_jobs_without_a_queue_are_watched_only_if_they_are_managed() -> None:
    (some,), (every,) = (watched_jobs([BATCH], every=every) for every in (False, True))

    assert (some.label_selector, every.label_selector) == (QUEUE_NAME, None)


def test_the_default_namespace_selector_is_that_of_kueue() -> None:
    (term,) = managed_jobs_of(read({}, namespace="ours").jobs, FeatureGates()).selector.requirements

    assert (term.operator, term.values) == ("NotIn", {"kube-system", "ours"})


def test_labels_to_copy_are_inputs_of_every_job() -> None:
    jobs = managed_jobs_of(read({"integrations": {"labelKeysToCopy": ["team", "cost"]}}).jobs, FeatureGates())

    assert selection(jobs)[0].inputs(PriorityClasses(), pods_ready=True).copied_labels == ("team", "cost")


def test_feature_gates_of_orphans_and_reclaimable_pods_are_read() -> None:
    off = FeatureGates({"FinishOrphanedWorkloads": False, "ReclaimablePods": False})
    jobs = read({}).jobs

    usual, without = managed_jobs_of(jobs, FeatureGates()), managed_jobs_of(jobs, off)

    assert (usual.reclaims, usual.finishes_orphans) == (True, True)
    assert (without.reclaims, without.finishes_orphans) == (False, False)


def test_feature_gates_of_pods_are_read_by_version() -> None:
    jobs, off = read({}).jobs, FeatureGates({"SkipReassignmentForPodOwnedWorkloads": False})
    of_v0_20 = FeatureGates(version=KueueVersion.V0_20)

    found = [managed_jobs_of(jobs, gates) for gates in (FeatureGates(version=KueueVersion.V0_19), of_v0_20, off)]

    assert [each.succeeded_ready for each in found[:2]] == [False, True]
    assert [each.requeues_pods for each in found] == [False, False, True]
    inputs = [selection(each)[0].inputs(PriorityClasses(), pods_ready=True) for each in found[1:]]
    assert [(each.succeeded_ready, each.requeues_pods) for each in inputs] == [
        (each.succeeded_ready, each.requeues_pods) for each in found[1:]
    ]


def test_feature_gates_of_names_are_read() -> None:
    gates = {"WorkloadIdentifierAnnotations": False, "ShortWorkloadNames": True}
    settings = read_configured({**DEFAULTS, "featureGates": gates}).settings

    assert settings.jobs.naming == Naming(annotated=False, short=True)
    assert {kind.naming for kind in settings.kinds} == {settings.jobs.naming}
    assert settings.multikueue is not None
    assert (settings.multikueue.placing.annotated, settings.multikueue.placing.short) == (False, True)
    assert read_configured(DEFAULTS).settings.jobs.naming == Naming()
