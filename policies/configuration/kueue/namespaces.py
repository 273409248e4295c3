"""Finds faults in managedJobsNamespaceSelector and integrations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.configuration.kueue.fault import Fault, duplicate, invalid, required, unsupported
from policies.configuration.kueue.grammar import kind_of, selector
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.job_shape import Framework
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.dialects.selectors import NAME_OF_NAMESPACE

SELECTOR = "managedJobsNamespaceSelector"
_SYSTEM = "kube-system"


def managed_namespaces(configuration: Manifest) -> Iterator[Fault]:
    """Faults of the selector, such as one that selects the namespaces of the system."""
    value = configuration.get(SELECTOR)
    faults = list(selector(value, SELECTOR))
    yield from faults
    if value is None or faults:
        return
    for namespace in filter(None, (_SYSTEM, text(configuration.get("namespace")))):
        if _selects(mapping(value), {NAME_OF_NAMESPACE: namespace}):
            yield invalid(SELECTOR, f"it selects the namespace {namespace}, whose own pods would wait; exclude it")


def _selects(value: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    """Whether a valid selector matches the labels."""
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
    earlier: set[tuple[str, str, str]] = set()
    for index, name in enumerate(listing(named)):
        at, framework = f"integrations.frameworks[{index}]", FRAMEWORKS.get(name) if isinstance(name, str) else None
        if framework is None:
            yield unsupported(at, name, *FRAMEWORKS)
        elif kind_version_group(framework) in earlier:
            yield duplicate(at, name)
        else:
            earlier.add(kind_version_group(framework))
    yield from _external(listing(mapping(section).get("externalFrameworks")), earlier)
    if "pod" in listing(named):
        yield from _needed_by_pods(configuration)


def kind_version_group(framework: Framework) -> tuple[str, str, str]:
    """The kind, version and group, as in names of `externalFrameworks`."""
    return framework.kind.kind, framework.version, framework.kind.group


def _external(names: list[object], earlier: set[tuple[str, str, str]]) -> Iterator[Fault]:
    for index, name in enumerate(names):
        at, kind = f"integrations.externalFrameworks[{index}]", kind_of(name)
        if kind is None:
            yield invalid(at, f"{name!r} is not a kind; use the form Kind.version.group, as in MyJob.v1.example.com")
        elif kind in earlier:
            yield duplicate(at, name)
        else:
            earlier.add(kind)


def _needed_by_pods(configuration: Manifest) -> Iterator[Fault]:
    if configuration.get(SELECTOR) is None:
        yield required(SELECTOR, "pods are managed, so select their namespaces")
    else:
        yield from managed_namespaces(configuration)
