"""Finds faults in managedJobsNamespaceSelector and integrations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from policies.configuration.kueue.fault import Fault, duplicate, invalid, required, unsupported
from policies.configuration.kueue.grammar import kind_of, label_selector_faults
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.job_shape import Framework
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.dialects.selectors import NAME_OF_NAMESPACE, read_label_selector

Kind: TypeAlias = tuple[str, str, str]
"""The kind, version and group."""
SELECTOR = "managedJobsNamespaceSelector"
_SYSTEM = "kube-system"


def managed_namespaces(configuration: Manifest) -> Iterator[Fault]:
    """Faults of the selector, such as one that selects the namespaces of the system."""
    value = configuration.get(SELECTOR)
    faults = list(label_selector_faults(value, SELECTOR))
    yield from faults
    selected = read_label_selector(value)
    if selected is None or faults:
        return
    for namespace in filter(None, (_SYSTEM, text(configuration.get("namespace")))):
        if selected.matches({NAME_OF_NAMESPACE: namespace}):
            yield invalid(SELECTOR, f"it selects the namespace {namespace}, whose own pods would wait; exclude it")


def integrations(configuration: Manifest) -> Iterator[Fault]:
    section = configuration.get("integrations")
    if section is None:
        yield required("integrations")
        return
    named = mapping(section).get("frameworks")
    if named is None:
        yield required("integrations.frameworks")
        return
    earlier: set[Kind] = set()
    for index, name in enumerate(listing(named)):
        at, framework = f"integrations.frameworks[{index}]", FRAMEWORKS.get(name) if isinstance(name, str) else None
        if framework is None:
            yield unsupported(at, name, *FRAMEWORKS)
        elif kind_version_group(framework) in earlier:
            yield duplicate(at, name)
        else:
            earlier.add(kind_version_group(framework))
    external = enumerate(listing(mapping(section).get("externalFrameworks")))
    yield from external_kinds(((f"integrations.externalFrameworks[{at}]", name) for at, name in external), earlier)
    if "pod" in listing(named):
        yield from _needed_by_pods(configuration)


def kind_version_group(framework: Framework) -> Kind:
    """The kind, version and group, as in names of `externalFrameworks`."""
    return framework.kind.kind, framework.version, framework.kind.group


def external_kinds(
    named: Iterable[tuple[str, object]], earlier: set[Kind], enabled: Collection[Kind] = ()
) -> Iterator[Fault]:
    """The faults of `externalFrameworks`, from the path and the name of each.

    `earlier`: the kinds that must not be named again. `enabled`: those that `integrations.frameworks` names.
    """
    for at, name in named:
        kind = kind_of(name)
        if kind is None:
            yield invalid(at, f"{name!r} is not a kind; use the form Kind.version.group, as in MyJob.v1.example.com")
            continue
        if kind in earlier:
            yield duplicate(at, name)
        earlier.add(kind)
        if kind in enabled:
            yield invalid(at, f"{name} is already enabled by integrations.frameworks; remove it here")


def _needed_by_pods(configuration: Manifest) -> Iterator[Fault]:
    if configuration.get(SELECTOR) is None:
        yield required(SELECTOR, "pods are managed, so select their namespaces")
    else:
        yield from managed_namespaces(configuration)
