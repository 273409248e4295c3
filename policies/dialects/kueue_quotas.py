"""The resource groups of Kueue's Cohorts and ClusterQueues, with where each part stands in the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from policies.model import fields
from policies.model.pools import Terms, count
from policies.model.quantity import Quantity


def steps(*at: int) -> Iterator[str | int]:
    """The keys under spec that lead to the resource group, flavor or resource of these indexes."""
    for key, index in zip(("resourceGroups", "flavors", "resources"), at, strict=False):
        yield key
        yield index


@lru_cache(maxsize=1024)  # the same few in all queues
def quota_field(at: tuple[int, ...], *keys: str | int) -> str:
    """The path of what these keys lead to from a group, a flavor or a quota; no key is the user's."""
    return fields.join("spec", *steps(*at), *keys)


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """A node's quota of one resource in one flavor. An amount that is None is absent or was unusable.

    `name` is empty where it cannot be read. `at` are the indexes of its group, its flavor and its own in the manifest.
    """

    name: str
    nominal: Quantity | None
    borrowing_limit: Quantity | None
    lending_limit: Quantity | None
    at: tuple[int, int, int]
    _terms: Terms = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Rules ask for the terms often."""
        nominal = 0 if self.nominal is None else count(self.name, self.nominal)
        borrowing = None if self.borrowing_limit is None else count(self.name, self.borrowing_limit)
        lending = None if self.lending_limit is None else count(self.name, self.lending_limit)
        object.__setattr__(self, "_terms", Terms(nominal, borrowing, lending))

    def field(self, key: str) -> str:
        return quota_field(self.at, key)

    def pointer(self, key: str) -> str:
        return fields.pointer("spec", *steps(*self.at), key)

    def terms(self) -> Terms:
        """The amounts as Kueue counts them; one that was unusable counts as absent."""
        return self._terms


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    """A node's quota in one flavor. `at` are the indexes of its group and its own."""

    name: str
    resources: tuple[ResourceQuota, ...]
    at: tuple[int, int]

    def field(self, key: str) -> str:
        return quota_field(self.at, key)

    def pointer(self, *keys: str | int) -> str:
        return fields.pointer("spec", *steps(*self.at), *keys)


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that are assigned together, and the flavors that have them. `at` is its index."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]
    at: int

    def covered_field(self, index: int) -> str:
        return quota_field((self.at,), "coveredResources", index)
