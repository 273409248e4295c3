"""Finds odd amounts that a job has outside of the pod templates of its pod sets.

Source: spark-operator v1beta2; Kubeflow Trainer v1alpha1; AppWrapper v1beta2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from policies.dialects.core import POD
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.frameworks.kubeflow import TRAIN_JOB
from policies.dialects.frameworks.wrapped import APP_WRAPPER, SPARK_APPLICATION
from policies.dialects.job_shape import Step, at
from policies.dialects.odd_amounts import OddAmount, odd_in_pod, odd_in_resources, odd_value
from policies.dialects.reading import Manifest, group_kind, listing, mapping, text
from policies.model import fields
from policies.model.objects import GroupKind

_STEP = re.compile(r"\[([0-9]{1,9})\]|([^.\[\]]+)").findall
_BY_KIND = {each.kind: each for each in FRAMEWORKS.values()}


def odd_in_job(kind: GroupKind, manifest: Manifest, above: str = "") -> Iterator[OddAmount]:
    """The odd amounts of a job of this kind. `above`: the path of the manifest."""
    find = _ELSEWHERE.get(kind)
    if find is not None:
        yield from find(manifest, above)


def _of_spark(manifest: Manifest, above: str) -> Iterator[OddAmount]:
    """The odd amounts of a Spark application. Memory is skipped: it is written as for Java, where 512m is 512 MiB."""
    spec = mapping(manifest.get("spec"))
    for resource, value in mapping(at(spec, "batchSchedulerOptions.resources")).items():
        path = fields.join(above, "spec", "batchSchedulerOptions", "resources", resource)
        yield from odd_value(path, resource, value, of_pod=False)
    for role in ("driver", "executor"):
        pod = mapping(spec.get(role))
        for key in ("coreRequest", "coreLimit"):
            yield from odd_value(fields.join(above, "spec", role, key), "cpu", pod.get(key))
        yield from odd_in_pod(fields.join(above, "spec", role, "template", "spec"), mapping(at(pod, "template.spec")))


def _of_train_job(manifest: Manifest, above: str) -> Iterator[OddAmount]:
    resources = at(manifest, "spec.trainer.resourcesPerNode")
    yield from odd_in_resources(fields.join(above, "spec", "trainer", "resourcesPerNode"), resources)


def _of_app_wrapper(manifest: Manifest, above: str) -> Iterator[OddAmount]:
    for index, each in enumerate(listing(at(manifest, "spec.components"))):
        yield from _of_component(mapping(each), fields.join(above, "spec", "components", index))


def _of_component(component: Mapping[str, Any], path: str) -> Iterator[OddAmount]:
    """The odd amounts of a component: in the pods of its kind if that is known, else in those that its podSets name."""
    template, wrapped = mapping(component.get("template")), fields.join(path, "template")
    kind = group_kind(template)
    if kind == POD:
        yield from odd_in_pod(fields.join(wrapped, "spec"), mapping(template.get("spec")))
    elif kind in _BY_KIND:
        for pods in _BY_KIND[kind].pods_of(template):
            yield from odd_in_pod(fields.join(wrapped, *pods.path, "spec"), mapping(pods.template.get("spec")))
        if kind != APP_WRAPPER:  # an AppWrapper in an AppWrapper is not supported
            yield from odd_in_job(kind, template, wrapped)
    else:
        for pod_set in map(mapping, listing(component.get("podSets"))):
            steps = (*_steps(text(pod_set.get("path")) or ""), "spec")
            yield from odd_in_pod(fields.join(path, *steps), mapping(_inside(component, steps)))


def _steps(path: str) -> tuple[Step, ...]:
    """The keys and indexes of a path such as `template.spec.jobs[0].template`."""
    return tuple(int(index) if index else key for index, key in _STEP(path))


def _inside(holder: object, steps: Iterable[Step]) -> object:
    for step in steps:
        entries: Mapping[Any, Any] = dict(enumerate(listing(holder))) if isinstance(step, int) else mapping(holder)
        holder = entries.get(step)
    return holder


_ELSEWHERE: Mapping[GroupKind, Callable[[Manifest, str], Iterator[OddAmount]]] = {
    SPARK_APPLICATION: _of_spark,
    TRAIN_JOB: _of_train_job,
    APP_WRAPPER: _of_app_wrapper,
}
