"""The edits of the what-if form: new quota, a new parent, a stop, new work. The form keeps each as one line of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlencode

from policies.dialects.labels import is_domain
from policies.model.quantity import BadQuantity, Quantity

MOST = 50
"""The maximum number of edits in one change."""
_LONGEST = 400
"""The maximum number of characters in one field."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "ClusterQueue": ("nominalQuota", "borrowingLimit", "lendingLimit"),
    "Cohort": ("nominalQuota", "borrowingLimit", "lendingLimit"),
    "Queue": ("capability", "deserved", "guarantee"),
    "Namespace": ("max", "guaranteed"),
}
"""The fields of a quota by the kind of its node: two kinds of Kueue, one of Volcano, and one of YuniKorn."""
LIMITS = ("borrowingLimit", "lendingLimit", "capability", "deserved", "guarantee", "max", "guaranteed")
"""Optional fields of a quota. An empty amount removes them."""

STOPPED = ("ClusterQueue",)
"""The kinds that an edit can stop or resume."""
STOPS: Mapping[str, str] = {
    "None": "admits work",
    "Hold": "admits no more work",
    "HoldAndDrain": "evicts its work and admits no more",
}
"""The values of a ClusterQueue's `stopPolicy`, each with its effect."""


class BadEdit(ValueError):
    """The input of the user is not valid. The message is for the user."""


class EditedNode(NamedTuple):
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class QuotaEdit:
    """A change of one field of a quota.

    `flavor`: empty for projects without flavors.
    `amount`: the new amount; with a sign, the difference from the present amount; empty removes the field.
    """

    node: EditedNode
    flavor: str
    resource: str
    field: str
    amount: str

    def __str__(self) -> str:
        pair = f"{self.flavor}/{self.resource}" if self.flavor else self.resource
        return f"{self.node}: {self.field} of {pair} {self._change_text}"

    @property
    def _change_text(self) -> str:
        if self.relative:
            return f"becomes {self.amount[1:]} {'more' if self.amount[0] == '+' else 'less'} than now"
        return f"becomes {self.amount}" if self.amount else "is removed"

    @property
    def relative(self) -> bool:
        return self.amount.startswith(("+", "-"))


@dataclass(frozen=True, slots=True)
class MoveEdit:
    """A move of a node. `parent`: the name of the new parent; if empty, the node becomes a root."""

    node: EditedNode
    parent: str

    def __str__(self) -> str:
        return f"{self.node} moves below {self.parent}" if self.parent else f"{self.node} becomes a root"


@dataclass(frozen=True, slots=True)
class StopEdit:
    """A change of a ClusterQueue's stopPolicy. `policy`: one of STOPS."""

    node: EditedNode
    policy: str

    def __str__(self) -> str:
        return f"{self.node} {STOPS[self.policy]} (stopPolicy {self.policy})"


@dataclass(frozen=True, slots=True)
class WorkEdit:
    """A new Workload of `pods` equal pods, each with these requests."""

    namespace: str
    queue: str
    name: str
    pods: int
    requests: tuple[tuple[str, str], ...]
    priority: int

    def __str__(self) -> str:
        each = ", ".join(f"{resource} {amount}" for resource, amount in self.requests)
        return (
            f"Workload {self.namespace}/{self.name} at {self.queue}: {self.pods} × ({each}), priority {self.priority}"
        )


Edit: TypeAlias = QuotaEdit | MoveEdit | StopEdit | WorkEdit


def encoded(edit: Edit) -> str:
    """The edit as a line of text for the form. The inverse of `parse`."""
    return urlencode(_fields(edit))


def _fields(edit: Edit) -> dict[str, object]:
    match edit:
        case QuotaEdit(node, flavor, resource, field, amount):
            pair = {"flavor": flavor, "resource": resource}
            return {"quota": node.kind, "name": node.name, **pair, "field": field, "amount": amount}
        case MoveEdit(node, parent):
            return {"move": node.kind, "name": node.name, "parent": parent}
        case StopEdit(node, policy):
            return {"stop": node.kind, "name": node.name, "policy": policy}
        case WorkEdit():
            requests = ", ".join(f"{resource}={amount}" for resource, amount in edit.requests)
            size = {"pods": edit.pods, "requests": requests, "priority": edit.priority}
            return {"work": edit.namespace, "queue": edit.queue, "name": edit.name, **size}


def parse(text: str) -> Edit:
    """The inverse of `encoded`. Raises BadEdit."""
    found = dict(parse_qsl(text, keep_blank_values=True))
    if "quota" in found:
        return parse_quota({"kind": found["quota"], **found})
    if "move" in found:
        return parse_move({"kind": found["move"], **found})
    if "stop" in found:
        return parse_stop({"kind": found["stop"], **found})
    if "work" in found:
        return parse_work({"namespace": found["work"], **found})
    raise BadEdit("This line of the change was not made by this form.")


def parse_quota(typed: Mapping[str, str]) -> QuotaEdit:
    """Parse an edit of a quota: kind, name, flavor, resource, field and amount. Raises BadEdit."""
    node, field, amount = _node(typed), _text(typed, "field"), _text(typed, "amount")
    if node.kind not in FIELDS or field not in FIELDS[node.kind]:
        raise BadEdit(f"A {node.kind} has {' and '.join(FIELDS.get(node.kind, ('no quota',)))}, not {field}.")
    if amount or field not in LIMITS:
        _check(amount, f"The {field} of {node}", ", or how much more or less it is: +8, -8")
    flavor = _text(typed, "flavor")
    if node.kind in ("ClusterQueue", "Cohort") and not flavor:
        raise BadEdit(f"Name the flavor and the resource: {node} may have a quota for each of several.")
    return QuotaEdit(node, flavor, _required_text(typed, "resource", "resource"), field, amount)


def parse_move(typed: Mapping[str, str]) -> MoveEdit:
    """Parse a move: kind, name and parent. Raises BadEdit."""
    node = _node(typed)
    if node.kind not in FIELDS:
        raise BadEdit(f"A {node.kind} is not a node of a tree.")
    return MoveEdit(node, _text(typed, "parent"))


def parse_stop(typed: Mapping[str, str]) -> StopEdit:
    """Parse a stop: kind, name and policy. Raises BadEdit."""
    node, policy = _node(typed), _text(typed, "policy")
    if node.kind not in STOPPED:
        raise BadEdit(f"A {node.kind} has no stopPolicy; a ClusterQueue has one.")
    if policy not in STOPS:
        raise BadEdit(f"The stopPolicy of {node} is one of {', '.join(STOPS)}, not {policy or 'empty'}.")
    return StopEdit(node, policy)


def parse_work(typed: Mapping[str, str]) -> WorkEdit:
    """Parse work to add: namespace, queue, name, pods, requests (`cpu=1, memory=1Gi`) and priority. Raises BadEdit."""
    return WorkEdit(
        _required_text(typed, "namespace", "namespace"),
        _required_text(typed, "queue", "LocalQueue"),
        _text(typed, "name") or "what-if",
        _number(typed, "pods", 1, 1, 100_000),
        tuple(_requests(_required_text(typed, "requests", "requests"))),
        _number(typed, "priority", 0, -(2**31), 2**31 - 1),
    )


def _requests(text: str) -> Iterable[tuple[str, str]]:
    for part in text.split(","):
        resource, equals, amount = (each.strip() for each in part.partition("="))
        if not resource or not equals:
            raise BadEdit(f"Write the requests of a pod as cpu=1, memory=1Gi, not {part.strip() or 'nothing'}.")
        _check(amount, f"The request of {resource}")
        yield resource, amount


def _check(amount: str, what: str, more: str = "") -> None:
    try:
        Quantity.parse(amount)
    except BadQuantity as error:
        raise BadEdit(
            f"{what} is {amount or 'empty'}, which is not a valid amount; write it as Kubernetes does:"
            f" 8, 500m, 1Gi{more}."
        ) from error


def _node(typed: Mapping[str, str]) -> EditedNode:
    kind, name = _required_text(typed, "kind", "kind"), _required_text(typed, "name", "name")
    if not is_domain(name):
        raise BadEdit(f"{name} is not a valid object name.")
    return EditedNode(kind, name)


def _required_text(typed: Mapping[str, str], field: str, what: str) -> str:
    found = _text(typed, field)
    if not found:
        raise BadEdit(f"The {what} is missing.")
    return found


def _text(typed: Mapping[str, str], field: str) -> str:
    found = typed.get(field, "").strip()
    if len(found) > _LONGEST:
        raise BadEdit(f"The {field} has more than {_LONGEST} characters.")
    return found


def _number(typed: Mapping[str, str], field: str, default: int, least: int, most: int) -> int:
    text = _text(typed, field)
    try:
        found = int(text) if text else default
    except ValueError as error:
        raise BadEdit(f"{field}: {text} is not a whole number.") from error
    if not least <= found <= most:
        raise BadEdit(f"{field}: {found} is not from {least} to {most}.")
    return found
