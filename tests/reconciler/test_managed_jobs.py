"""Jobs are managed in selected namespaces, as the labels of these are now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.configuration.kueue.gates import FeatureGates, KueueVersion
from policies.configuration.kueue.reading import read
from policies.dialects.selectors import read_label_selector
from reconciler.configured import DEFAULTS, read_configured
from reconciler.controllers.jobs.watched_jobs import watched_jobs
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.life import managed
from reconciler.managed_jobs import ManagedJobs, NamespaceSelection, managed_jobs_of
from reconciler.objects.watched import QUEUE_NAME
from scheduling.objects.naming import Naming
from scheduling.objects.priority import PriorityClasses
from scheduling.world.world import World
from tests.reconciler.jobs.world import job

BATCHES = ManagedJobs(read_label_selector({"matchLabels": {"batch": "yes"}}), without_queue=True)


def selection(managed_jobs: ManagedJobs = BATCHES) -> tuple[NamespaceSelection, World]:
    world = World()
    return NamespaceSelection(managed_jobs, world), world


def test_without_a_selector_every_namespace_is_selected_also_before_it_is_known() -> None:
    assert selection(ManagedJobs())[0].selects("ns")


def test_a_namespace_that_is_not_known_yet_is_not_selected_and_when_it_is_jobs_are_looked_at_again() -> None:
    selected, world = selection()
    assert not selected.selects("ns")
    assert not selected.outdated("ns")

    assert not selected.selects("ns")
    world.put_namespace("ns", {"batch": "yes"})
    assert selected.outdated("ns")
    assert selected.selects("ns")
    assert not selected.outdated("ns")


def test_nobody_is_looked_at_again_for_a_namespace_that_nobody_asked_for_or_that_stays_as_it_was() -> None:
    selected, world = selection()
    world.put_namespace("ns", {"batch": "yes"})
    assert not selected.outdated("ns")

    assert selected.selects("ns")
    world.put_namespace("ns", {"batch": "yes", "team": "a"})
    assert not selected.outdated("ns")
    assert selected.selects("ns")
    world.put_namespace("ns", {"batch": "no"})
    assert selected.outdated("ns")


def test_a_change_that_selects_nobody_does_not_hide_the_one_that_does() -> None:
    selected, world = selection()
    world.put_namespace("ns", {"batch": "no"})
    assert not selected.selects("ns")

    world.put_namespace("ns", {"batch": "no", "team": "a"})
    assert not selected.outdated("ns")
    assert not selected.outdated("ns"), "a ClusterQueue or a flavor may have the name of the namespace"
    world.put_namespace("ns", {"batch": "yes", "team": "a"})
    assert selected.outdated("ns")


def test_nobody_is_looked_at_again_for_a_namespace_that_is_gone() -> None:
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
def test_a_job_is_managed_where_its_namespace_is_selected_and_it_names_a_queue_or_need_not(
    labels: dict[str, str], queue: str, without_queue: bool, is_managed: bool
) -> None:
    selected, world = selection(replace(BATCHES, without_queue=without_queue))
    submitted = job()
    submitted["metadata"]["labels"] = {QUEUE_NAME: queue} if queue else {}
    world.put_namespace(submitted["metadata"]["namespace"], labels)

    assert managed(BATCH, submitted, selected.inputs(PriorityClasses(), pods_ready=False)) == is_managed


def test_jobs_without_a_queue_are_followed_only_where_they_count() -> None:
    (some,), (every,) = (watched_jobs([BATCH], every=every) for every in (False, True))

    assert (some.label_selector, every.label_selector) == (QUEUE_NAME, None)


def test_kueues_selector_is_the_default() -> None:
    (term,) = managed_jobs_of(read({}, namespace="ours").jobs, FeatureGates()).selector.requirements

    assert (term.operator, term.values) == ("NotIn", {"kube-system", "ours"})


def test_every_job_knows_the_labels_that_workloads_copy() -> None:
    jobs = managed_jobs_of(read({"integrations": {"labelKeysToCopy": ["team", "cost"]}}).jobs, FeatureGates())

    assert selection(jobs)[0].inputs(PriorityClasses(), pods_ready=True).copied_labels == ("team", "cost")


def test_the_gates_about_orphans_and_reclaimable_pods_are_asked() -> None:
    off = FeatureGates({"FinishOrphanedWorkloads": False, "ReclaimablePods": False})
    jobs = read({}).jobs

    usual, without = managed_jobs_of(jobs, FeatureGates()), managed_jobs_of(jobs, off)

    assert (usual.reclaims, usual.finishes_orphans) == (True, True)
    assert (without.reclaims, without.finishes_orphans) == (False, False)


def test_the_gates_about_pods_are_asked_in_their_versions() -> None:
    jobs, off = read({}).jobs, FeatureGates({"SkipReassignmentForPodOwnedWorkloads": False})
    of_v0_20 = FeatureGates(version=KueueVersion.V0_20)

    found = [managed_jobs_of(jobs, gates) for gates in (FeatureGates(version=KueueVersion.V0_19), of_v0_20, off)]

    assert [each.succeeded_ready for each in found[:2]] == [False, True]
    assert [each.requeues_pods for each in found] == [False, False, True]
    inputs = [selection(each)[0].inputs(PriorityClasses(), pods_ready=True) for each in found[1:]]
    assert [(each.succeeded_ready, each.requeues_pods) for each in inputs] == [
        (each.succeeded_ready, each.requeues_pods) for each in found[1:]
    ]


def test_the_gates_about_names_are_asked() -> None:
    gates = {"WorkloadIdentifierAnnotations": False, "ShortWorkloadNames": True}
    settings = read_configured({**DEFAULTS, "featureGates": gates}).settings

    assert settings.jobs.naming == Naming(annotated=False, short=True)
    assert {kind.naming for kind in settings.kinds} == {settings.jobs.naming}
    assert settings.multikueue is not None
    assert (settings.multikueue.placing.annotated, settings.multikueue.placing.short) == (False, True)
    assert read_configured(DEFAULTS).settings.jobs.naming == Naming()
