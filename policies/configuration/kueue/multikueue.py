"""Finds faults of the section `multiKueue`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policies.configuration.kueue.defaults import INCREMENTAL
from policies.configuration.kueue.fault import Fault, forbidden, invalid, required, unsupported
from policies.configuration.kueue.grammar import duration_faults, number_faults
from policies.configuration.kueue.namespaces import external_kinds, kind_version_group
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.labels import is_label_value
from policies.dialects.reading import Manifest, listing, mapping, text

_AT = "multiKueue"
_MODES = ("Never", "IfAvailable", "Always")


def multikueue(configuration: Manifest) -> Iterator[Fault]:
    section = mapping(configuration.get("multiKueue"))
    yield from duration_faults(section.get("gcInterval"), f"{_AT}.gcInterval")
    yield from duration_faults(section.get("workerLostTimeout"), f"{_AT}.workerLostTimeout")
    origin = section.get("origin")
    if origin is not None and not (isinstance(origin, str) and is_label_value(origin)):
        yield invalid(f"{_AT}.origin", f"{origin!r} is not a valid label value")
    frameworks = listing(mapping(configuration.get("integrations")).get("frameworks"))
    yield from _external(listing(section.get("externalFrameworks")), frameworks)
    yield from _profile(mapping(section.get("clusterProfile")))
    yield from _dispatcher(section)


def _external(entries: list[Any], frameworks: list[Any]) -> Iterator[Fault]:
    named = [FRAMEWORKS[name] for name in filter(None, map(text, frameworks)) if name in FRAMEWORKS]
    known = {kind_version_group(framework) for framework in named if framework.dispatched}
    names = (mapping(entry).get("name") for entry in entries)
    return external_kinds(
        ((f"{_AT}.externalFrameworks[{index}].name", name) for index, name in enumerate(names)), set(), known
    )


def _profile(profile: Mapping[str, Any]) -> Iterator[Fault]:
    at = f"{_AT}.clusterProfile"
    new, old = listing(profile.get("accessProviders")), listing(profile.get("credentialsProviders"))
    if new and old:
        yield forbidden(
            f"{at}.credentialsProviders", "it is the old name of accessProviders; keep only accessProviders"
        )
    yield from _providers(new or old, f"{at}.accessProviders" if new else f"{at}.credentialsProviders")


def _providers(providers: list[Any], at: str) -> Iterator[Fault]:
    """Faults of the providers. Their paths have no index, as Kueue reports them."""
    for provider in map(mapping, providers):
        command = mapping(provider.get("execConfig"))
        if not provider.get("name"):
            yield required(f"{at}.name")
        for key in ("command", "apiVersion"):
            if not command.get(key):
                yield required(f"{at}.execConfig.{key}")
        for variable in listing(command.get("env")):
            if not mapping(variable).get("name"):
                yield required(f"{at}.execConfig.env.name")
        mode = command.get("interactiveMode")
        if not mode:
            yield required(f"{at}.execConfig.interactiveMode", f"write {' or '.join(_MODES)}")
        elif mode not in _MODES:
            yield unsupported(f"{at}.execConfig.interactiveMode", mode, *_MODES)


def _dispatcher(section: Mapping[str, Any]) -> Iterator[Fault]:
    steps, at = section.get("incrementalDispatcherConfig"), f"{_AT}.incrementalDispatcherConfig"
    if steps is None:
        return
    if section.get("dispatcherName") != INCREMENTAL:
        yield invalid(at, f"only the incremental dispatcher has steps; write {_AT}.dispatcherName: {INCREMENTAL}")
    yield from number_faults(mapping(steps).get("stepSize"), 1, f"{at}.stepSize")
