"""Which namespaces' jobs are managed, and the kinds of jobs that need to know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.configuration.kueue.defaults import NAME_OF_NAMESPACE
from policies.configuration.kueue.fault import Fault, duplicate, invalid, required, unsupported
from policies.configuration.kueue.grammar import kind_of, selector
from policies.dialects.reading import Manifest, listing, mapping, text

SELECTOR = "managedJobsNamespaceSelector"
_SYSTEM = "kube-system"
FRAMEWORKS: Mapping[str, tuple[str, str, str]] = {
    "batch/job": ("Job", "v1", "batch"),
    "deployment": ("Deployment", "v1", "apps"),
    "jobset.x-k8s.io/jobset": ("JobSet", "v1alpha2", "jobset.x-k8s.io"),
    "kubeflow.org/jaxjob": ("JAXJob", "v1", "kubeflow.org"),
    "kubeflow.org/mpijob": ("MPIJob", "v2beta1", "kubeflow.org"),
    "kubeflow.org/paddlejob": ("PaddleJob", "v1", "kubeflow.org"),
    "kubeflow.org/pytorchjob": ("PyTorchJob", "v1", "kubeflow.org"),
    "kubeflow.org/tfjob": ("TFJob", "v1", "kubeflow.org"),
    "kubeflow.org/xgboostjob": ("XGBoostJob", "v1", "kubeflow.org"),
    "leaderworkerset.x-k8s.io/leaderworkerset": ("LeaderWorkerSet", "v1", "leaderworkerset.x-k8s.io"),
    "pod": ("Pod", "v1", ""),
    "ray.io/raycluster": ("RayCluster", "v1", "ray.io"),
    "ray.io/rayjob": ("RayJob", "v1", "ray.io"),
    "ray.io/rayservice": ("RayService", "v1", "ray.io"),
    "sparkoperator.k8s.io/sparkapplication": ("SparkApplication", "v1beta2", "sparkoperator.k8s.io"),
    "statefulset": ("StatefulSet", "v1", "apps"),
    "trainer.kubeflow.org/trainjob": ("TrainJob", "v1alpha1", "trainer.kubeflow.org"),
    "workload.codeflare.dev/appwrapper": ("AppWrapper", "v1beta2", "workload.codeflare.dev"),
}
"""The kinds of jobs that Kueue manages, by their names in integrations.frameworks, as (kind, version, group)."""


def managed_namespaces(configuration: Manifest) -> Iterator[Fault]:
    """No selector selects nothing."""
    value = configuration.get(SELECTOR)
    faults = list(selector(value, SELECTOR))
    yield from faults
    if value is None or faults:
        return
    for namespace in filter(None, (_SYSTEM, text(configuration.get("namespace")))):
        if _selects(mapping(value), {NAME_OF_NAMESPACE: namespace}):
            yield invalid(SELECTOR, f"it selects the namespace {namespace}, whose own pods would wait; exclude it")


def _selects(value: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    """Of a selector without faults."""
    if any(labels.get(key) != wanted for key, wanted in mapping(value.get("matchLabels")).items()):
        return False
    for entry in map(mapping, listing(value.get("matchExpressions"))):
        found = labels.get(entry.get("key") or "")
        holds = found in listing(entry.get("values")) if "values" in entry else found is not None
        if holds != (entry.get("operator") in ("In", "Exists")):
            return False
    return True


def integrations(configuration: Manifest) -> Iterator[Fault]:
    section = configuration.get("integrations")
    if section is None:
        yield required("integrations")
        return
    named = mapping(section).get("frameworks")
    if named is None:
        yield required("integrations.frameworks")
        return
    seen: set[tuple[str, str, str]] = set()
    for index, name in enumerate(listing(named)):
        at, kind = f"integrations.frameworks[{index}]", FRAMEWORKS.get(name) if isinstance(name, str) else None
        if kind is None:
            yield unsupported(at, name, *FRAMEWORKS)
        elif kind in seen:
            yield duplicate(at, name)
        else:
            seen.add(kind)
    yield from _external(listing(mapping(section).get("externalFrameworks")), seen)
    if "pod" in listing(named):
        yield from _needed_by_pods(configuration)


def _external(names: list[object], seen: set[tuple[str, str, str]]) -> Iterator[Fault]:
    for index, name in enumerate(names):
        at, kind = f"integrations.externalFrameworks[{index}]", kind_of(name)
        if kind is None:
            yield invalid(at, f"{name!r} names no kind; write Kind.version.group, as in MyJob.v1.example.com")
        elif kind in seen:
            yield duplicate(at, name)
        else:
            seen.add(kind)


def _needed_by_pods(configuration: Manifest) -> Iterator[Fault]:
    if configuration.get(SELECTOR) is None:
        yield required(SELECTOR, "pods are managed, so say in which namespaces")
    else:
        yield from managed_namespaces(configuration)
