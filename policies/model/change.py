"""A request's change of one object, with the user and the time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from policies.model.objects import Defect, KubeObject, Ref


class ChangeOperation(StrEnum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class Occasion(StrEnum):
    """Features of rare changes. Many rules only judge changes with one of them."""

    DELETION = "an object is deleted"
    PLACEMENT = "a node is created or gets another parent"
    DEFECT = "an object has a defect"
    EXEMPTION = "an object asks for an exemption"
    CYCLE = "a node lies on a cycle"


@dataclass(frozen=True, slots=True)
class Change:
    """One object before and after a request. One of the two may be None, but not both.

    `defects`: the immutable fields that change.
    `replaced`: the object with the same generateName in the files before the change. It is another object, but faults
    that it had are not new.
    """

    before: KubeObject | None
    after: KubeObject | None
    defects: tuple[Defect, ...] = ()
    replaced: KubeObject | None = None

    @property
    def object(self) -> KubeObject:
        obj = self.after or self.before
        assert obj is not None
        return obj

    @property
    def ref(self) -> Ref:
        return self.object.ref

    @property
    def operation(self) -> ChangeOperation:
        if self.before is None:
            return ChangeOperation.CREATE
        return ChangeOperation.DELETE if self.after is None else ChangeOperation.UPDATE


_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """`tenant`: whether it is known that it does not control the object or its owner."""

    name: str = ""
    groups: tuple[str, ...] = ()
    tenant: bool = False

    @property
    def is_of_kubernetes(self) -> bool:
        """Whether it is a controller of Kubernetes, or a user with all rights."""
        return (
            self.name == "system:kube-controller-manager"
            or self.name.startswith(f"{_ACCOUNT}kube-system:")
            or "system:masters" in self.groups
        )

    @property
    def is_kubelet(self) -> bool:
        """Whether it is a node, which creates no Pods but mirror pods: those that it runs from files."""
        return "system:nodes" in self.groups

    def may_be_controller_in(self, namespace: str) -> bool:
        """Whether it may be the controller of jobs there; not a ServiceAccount of the namespace: tenants can use it."""
        elsewhere = self.name.startswith(_ACCOUNT) and not self.name.startswith(f"{_ACCOUNT}{namespace}:")
        return self.is_of_kubernetes or (elsewhere and not self.tenant)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The time and the user of a change."""

    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    user: User = User()
