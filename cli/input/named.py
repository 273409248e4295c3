"""Reads the name of a workload or job: NAME, KIND/NAME as in kubectl, or NAMESPACE/NAME as in Quotree's output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from cli.exits import Misused
from policies.dialects.reading import Manifest, condition, mapping, owner_references
from policies.model.suggestion import close

_WORKLOAD_KIND = "Workload"
_WORKLOAD_WORDS = ("workload", "workloads", "wl")
_NO_WORKLOAD = "a job without the label kueue.x-k8s.io/queue-name has no Workload"


class NoWorkload(Misused):
    """No Workload has this name. `missing`: the message without advice. `near`: `did you mean ...?`, or empty."""

    def __init__(self, missing: str, near: str) -> None:
        super().__init__(f"{missing}; {near or _NO_WORKLOAD}")
        self.missing, self.near = missing, near


@dataclass(frozen=True, slots=True)
class NamedWork:
    """The name of a Workload or a job. `kind`: empty if the user names no kind."""

    namespace: str
    name: str
    kind: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def is_owner(self, kind: str, name: str) -> bool:
        """Whether the user may mean the job of this kind and name."""
        return self.name == name and self.kind in ("", kind)


def named(written: str, namespace: str | None, default: Callable[[], str]) -> NamedWork:
    """Read a name as the user has written it. Raises Misused.

    `namespace`: the value of -n. `default`: returns the namespace without -n.
    In A/B, A is a kind if it is a known one; otherwise it is a namespace, which must not contradict -n.
    """
    first, slash, name = written.partition("/")
    if not first or "/" in name or (slash and not name):
        raise Misused(f"{written!r} names no workload; write NAME, KIND/NAME or NAMESPACE/NAME")
    if not slash:
        return NamedWork(namespace or default(), first)
    kind = _kinds().get(first.lower())
    if kind is not None:
        return NamedWork(namespace or default(), name, kind)
    if namespace not in (None, first):
        raise Misused(
            f"{first} is neither a known kind of job nor the namespace {namespace} of -n; leave -n or {first} out"
        )
    return NamedWork(first, name)


Owners = Iterable[tuple[str, str]]
"""The kind and name of each owner of a Workload."""


def workload_of(workloads: Mapping[str, Owners], wanted: NamedWork, finished: Collection[str] = ()) -> str:
    """The name of the Workload that the user means: it has this name, or is owned by a job with this name.

    `workloads`: the Workloads of the namespace with their owners. `finished`: those that are finished; they only count
    if the job has no other, since an elastic job keeps the Workloads of its former sizes. Raises NoWorkload, and
    Misused if the name is ambiguous.
    """
    if wanted.kind in ("", _WORKLOAD_KIND) and wanted.name in workloads:
        return wanted.name
    every = sorted(name for name, owners in workloads.items() if any(wanted.is_owner(*each) for each in owners))
    found = [name for name in every if name not in finished] or every
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(f"{wanted.namespace}/{name}" for name in found)
        raise Misused(f"{len(found)} Workloads belong to {wanted.key}; name one of them: {keys}")
    known = {name for owners in workloads.values() for _, name in owners} | workloads.keys()
    near = close(wanted.name, known)
    hint = f"did you mean {wanted.namespace}/{near}?" if near else ""
    if wanted.kind and wanted.kind != _WORKLOAD_KIND:
        raise NoWorkload(f"there is no Workload of a {wanted.kind} {wanted.key}", hint)
    raise NoWorkload(f"there is no Workload {wanted.key}, and none of a job with this name", hint)


def stored_workload_of(stored: Mapping[str, Manifest], wanted: NamedWork) -> str:
    """The same for manifests by name."""
    conditions = {name: condition(mapping(each.get("status")), "Finished") for name, each in stored.items()}
    finished = {name for name, each in conditions.items() if each.get("status") == "True"}
    return workload_of({name: _owners(each) for name, each in stored.items()}, wanted, finished)


def _owners(workload: Manifest) -> list[tuple[str, str]]:
    return [(str(each.get("kind")), str(each.get("name"))) for each in owner_references(workload)]


@cache
def _kinds() -> dict[str, str]:
    """The kinds by the words for them: singular and plural, each also with the group, and kubectl's short names."""
    from reconciler.jobs.kinds import SHIPPED  # here, since it takes long to load

    found = dict.fromkeys(_WORKLOAD_WORDS, _WORKLOAD_KIND) | dict.fromkeys(("pod", "pods", "po"), "Pod")
    for group_kind, described in SHIPPED.items():
        kind, plural = group_kind.kind.lower(), described.resource.plural
        words = (kind, plural, f"{kind}.{group_kind.group}", f"{plural}.{group_kind.group}")
        found |= dict.fromkeys(words, group_kind.kind)
    return found
