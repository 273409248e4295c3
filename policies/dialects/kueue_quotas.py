"""The resource groups of Kueue's Cohorts and ClusterQueues, with the indexes of each part in the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from policies.model import fields
from policies.model.pools import Terms, count
from policies.model.quantity import Quantity


def steps(*at: int) -> Iterator[str | int]:
    """The keys below spec that lead to the resource group, flavor or resource with these indexes."""
    for key, index in zip(("resourceGroups", "flavors", "resources"), at, strict=False):
        yield key
        yield index


@lru_cache(maxsize=1024)  # all queues have the same few paths
def quota_field(at: tuple[int, ...], *keys: str | int) -> str:
    """The path of a field of a group, a flavor or a quota. `keys` lead to it, and must not be chosen by a user."""
    return fields.join("spec", *steps(*at), *keys)


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """The quota of a node for one resource of one flavor. An amount is None if it is absent or unusable.

    `name`: the name of the resource; empty if it cannot be read.
    `at`: the indexes of the group, the flavor and the resource in the manifest.
    """

    name: str
    nominal: Quantity | None
    borrowing_limit: Quantity | None
    lending_limit: Quantity | None
    at: tuple[int, int, int]
    _terms: Terms = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the terms once, since rules use them often."""
        nominal = 0 if self.nominal is None else count(self.name, self.nominal)
        borrowing = None if self.borrowing_limit is None else count(self.name, self.borrowing_limit)
        lending = None if self.lending_limit is None else count(self.name, self.lending_limit)
        object.__setattr__(self, "_terms", Terms(nominal, borrowing, lending))

    def field(self, key: str) -> str:
        return quota_field(self.at, key)

    def terms(self) -> Terms:
        """The amounts as Kueue counts them. An unusable one counts as absent."""
        return self._terms


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    """The quota of a node in one flavor. `at`: the indexes of the group and the flavor."""

    name: str
    resources: tuple[ResourceQuota, ...]
    at: tuple[int, int]

    def field(self, key: str) -> str:
        return quota_field(self.at, key)

    def pointer(self, *keys: str | int) -> str:
        return fields.pointer("spec", *steps(*self.at), *keys)


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that get the same flavor, and the flavors to try. `at`: the index of the group."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]
    at: int

    def covered_field(self, index: int) -> str:
        return quota_field((self.at,), "coveredResources", index)
