"""A topologyAssignment as the API stores it: slices of domains, with what their values have in common written once.

Every legal form is read. What is written is what Kueue writes. Source: Kueue v0.19, pkg/util/tas, apis/kueue/v1beta2.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice, takewhile
from typing import Any

from policies.dialects.reading import integer, listing, mapping
from scheduling.topology.assignment import AssignedDomain, TopologyAssignment

_MOST_SLICES = 1_000
_MOST_DOMAINS = 100_000
"""What the API server stores: slices of an assignment, domains of a slice."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read_topology_assignment(value: Mapping[str, Any]) -> TopologyAssignment:
    """The assignment as stored. Values and counts that the schema refuses are empty or 0."""
    levels = tuple(str(level) for level in listing(value.get("levels")))
    slices = (mapping(each) for each in listing(value.get("slices")))
    return TopologyAssignment(levels, tuple(domain for each in slices for domain in _domains(each, len(levels))))


def _domains(stored: Mapping[str, Any], levels: int) -> Iterator[AssignedDomain]:
    size = max(0, min(integer(stored.get("domainCount")) or 0, _MOST_DOMAINS))
    per_level = [_values(mapping(each), size) for each in listing(stored.get("valuesPerLevel"))]
    values = zip(*per_level, strict=True) if len(per_level) == levels else iter(())
    for path, pods in zip(values, _pods(mapping(stored.get("podCounts")), size), strict=False):
        yield AssignedDomain(path, pods)


def _values(stored: Mapping[str, Any], size: int) -> list[str]:
    universal = stored.get("universal")
    if isinstance(universal, str):
        return [universal] * size
    individual = mapping(stored.get("individual"))
    prefix, suffix = (str(individual.get(key) or "") for key in ("prefix", "suffix"))
    roots = [f"{prefix}{root}{suffix}" for root in listing(individual.get("roots"))]
    return [*roots, *[""] * size][:size]


def _pods(stored: Mapping[str, Any], size: int) -> list[int]:
    universal = integer(stored.get("universal"))
    if universal is not None:
        return [universal] * size
    return [*(integer(each) or 0 for each in listing(stored.get("individual"))), *[0] * size][:size]


# -- writing -----------------------------------------------------------------------------------------------------------


def written_topology_assignment(assignment: TopologyAssignment, *, by_prefix: bool = True) -> dict[str, Any]:
    """The assignment as Kueue stores it. by_prefix: hosts whose names begin alike may form a slice of their own.

    Without domains there is no key `slices`, which the API server refuses.
    """
    levels, domains = list(assignment.levels), assignment.domains
    if not domains:
        return {"levels": levels}
    runs = _runs(domains) if by_prefix and assignment.by_host and len(domains) > 1 else [domains]
    split = {"levels": levels, "slices": [_slice(run) for run in runs]}
    if len(runs) == 1 or len(domains) > _MOST_DOMAINS:
        return split
    whole = {"levels": levels, "slices": [_slice(domains)]}
    return min(split, whole, key=lambda form: len(json.dumps(form, separators=(",", ":"))))


def _slice(domains: Sequence[AssignedDomain]) -> dict[str, Any]:
    per_level = zip(*(domain.values for domain in domains), strict=True)
    pods = [domain.pods for domain in domains]
    return {
        "domainCount": len(domains),
        "valuesPerLevel": [_level(values) for values in per_level],
        "podCounts": {"universal": pods[0]} if len(set(pods)) == 1 else {"individual": pods},
    }


def _level(values: Sequence[str]) -> dict[str, Any]:
    if len(set(values)) == 1:
        return {"universal": values[0]}
    suffix = _common([value[::-1] for value in values])[::-1]
    prefix = _common(values)[: min(map(len, values)) - len(suffix)]
    ends = {key: value for key, value in (("prefix", prefix), ("suffix", suffix)) if value}
    return {"individual": {**ends, "roots": [value[len(prefix) : len(value) - len(suffix)] for value in values]}}


def _common(values: Sequence[str]) -> str:
    """What all begin with: of the first and the last in order, since the others lie between them."""
    first, last = min(values), max(values)
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(letter for letter, _ in equal)


def _runs(domains: Sequence[AssignedDomain]) -> list[Sequence[AssignedDomain]]:
    """The domains in runs of hosts with one prefix, by the longest prefixes that do not make too many slices."""
    candidates = [_prefixes(domain.values[-1]) for domain in domains]
    shared = Counter(prefix for prefixes in candidates for prefix in prefixes)
    for depth in range(max(map(len, candidates)), 0, -1):
        keys = [_longest(prefixes[:depth], shared) for prefixes in candidates]
        runs: list[Sequence[AssignedDomain]] = []
        for _, run in groupby(zip(keys, domains, strict=True), key=lambda pair: pair[0]):
            hosts = (domain for _, domain in run)
            while part := list(islice(hosts, _MOST_DOMAINS)):
                runs.append(part)
        if len(runs) <= _MOST_SLICES:
            return runs
    return [domains]


def _prefixes(host: str) -> list[str]:
    """The beginnings of a host name that end with a dash, the shortest first."""
    return [host[: at + 1] for at, letter in enumerate(host[:-1]) if letter == "-"]


def _longest(prefixes: Sequence[str], shared: Mapping[str, int]) -> str:
    """The longest of these that at least two hosts have."""
    return next((prefix for prefix in reversed(prefixes) if shared[prefix] > 1), "")
