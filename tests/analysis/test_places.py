"""Findings about objects outside the input are placed at the input object that causes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.context import Context
from analysis.documents import SourcePlace
from analysis.judgement import judge
from analysis.places import InputPlaces
from cli.input.against import Against
from cli.input.documents import gather
from policies.configuration.settings import Configuration
from policies.model.findings import Cause, Finding
from policies.model.objects import Ref
from tests.builders import cluster_queue, cohort, drawn, local_queue, pod_group, queue, typed, world
from tests.cli.runs import write

HELD = [*drawn("eng\n  web\n    shop\n  ml\nfar"), pod_group("train", "web")]


def ref(name: str) -> Ref:
    return typed(queue(name)).ref


def places(folder: Path, *inputs: dict[str, Any]) -> InputPlaces:
    """With HELD as the context, and each given object in a file of its own name."""
    for manifest in inputs:
        write(folder / f"{manifest['metadata']['name']}.yaml", manifest)
    objects = gather([str(folder)])
    context = Context(Against("cluster"), world(*HELD))
    return InputPlaces(objects, judge(objects, context, Configuration()).proposal)


def test_finding_on_an_input_object_is_placed_in_its_own_file(tmp_path: Path) -> None:
    found = places(tmp_path, queue("ml", "eng", deserved="cpu:1")).of(Finding(ref("ml"), "spec.deserved.cpu", ""))

    assert SourcePlace(f"{tmp_path}/ml.yaml", 8, 10) == found


def test_finding_is_placed_at_its_first_cause_in_the_input_before_relatives(tmp_path: Path) -> None:
    causes = tuple(Cause(ref(name), "spec.parent", "") for name in ("shop", "new", "far"))

    found = places(tmp_path, queue("far"), queue("new", "far"), queue("web", "eng"))

    assert f"{tmp_path}/new.yaml:6:11" == str(found.of(Finding(ref("eng"), "", "", causes=causes)))


def test_finding_is_placed_at_the_joining_field_of_the_nearest_relative(tmp_path: Path) -> None:
    found = places(tmp_path, queue("child", "shop"), queue("new", "ml"))

    assert f"{tmp_path}/new.yaml:6:11" == str(found.of(Finding(ref("eng"), "", "")))
    assert f"{tmp_path}/child.yaml:6:11" == str(found.of(Finding(ref("web"), "", "")))


def test_work_is_related_to_its_queue(tmp_path: Path) -> None:
    found = places(tmp_path, queue("far"), queue("web", "eng"))

    assert f"{tmp_path}/web.yaml:6:11" == str(found.of(Finding(typed(pod_group("train", "web")).ref, "", "")))


def test_finding_below_the_old_parent_is_placed_at_the_moved_queue(tmp_path: Path) -> None:
    found = places(tmp_path, queue("other", "far"), queue("shop", "other"))

    assert f"{tmp_path}/shop.yaml:6:11" == str(found.of(Finding(ref("web"), "", "")))


def test_cluster_queue_finding_is_placed_at_its_local_queue(tmp_path: Path) -> None:
    found = places(tmp_path, cohort("org"), local_queue("door", "lab"))

    assert f"{tmp_path}/door.yaml:7:17" == str(found.of(Finding(typed(cluster_queue("lab")).ref, "", "")))


def test_finding_without_relatives_is_placed_at_the_first_input_object(tmp_path: Path) -> None:
    found = places(tmp_path, queue("ml", "eng"), queue("web", "eng"))

    assert f"{tmp_path}/ml.yaml:6:11" == str(found.of(Finding(typed(cohort("org")).ref, "", "")))


def test_a_cycle_does_not_hang_the_search(tmp_path: Path) -> None:
    found = places(tmp_path, queue("a", "b"), queue("b", "a"), queue("c", "b"))

    assert f"{tmp_path}/a.yaml:6:11" == str(found.of(Finding(ref("far"), "", "")))
