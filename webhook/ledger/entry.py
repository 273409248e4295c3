"""One entry of the ledger, its form in a ConfigMap, and the limits of open entries.

Without the limits, a user who may write in one namespace could fill the ledger for everyone.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from policies.dialects import core, kueue, read, volcano, yunikorn
from policies.dialects.core import CONFIG_MAP
from policies.dialects.reading import Manifest, exemptions, group_kind, mapping, metadata, texts
from policies.model.change import ChangeOperation
from policies.model.exemptions import PREFIX
from policies.model.objects import GroupKind, KubeObject, Ref

FORMAT = 1
"""The format of each entry. A replica that finds a higher number cannot read the entry, and then refuses all changes
of trees."""

_LARGEST = 8 * 2**20
"""The most bytes of an unzipped state. The API server accepts objects of 3 MiB."""

_KEPT = ("apiVersion", "kind", "spec", "status", "data", "binaryData")
_QUOTA_NOTES: Mapping[GroupKind, tuple[str, ...]] = {
    volcano.QUEUE: (volcano.HIERARCHY, volcano.HIERARCHY_WEIGHTS),
    core.NAMESPACE: (*yunikorn.NAMESPACE_KEYS, core.VOLCANO_QUEUE),
}
"""The annotations in which Volcano and YuniKorn have amounts, parents and queues. No others are kept."""

_REASON = 60
"""The most characters of the reason of an exemption that are kept."""
_USER = 160
"""The most characters of a user's name that are kept. A digest replaces the rest of a longer name."""
_OF_SERVICE_ACCOUNT = "system:serviceaccount:"
_OF_CONTROLLERS = "system:serviceaccount:kube-system:"
MOST_OF_OBJECT, MOST_OF_NAMESPACE = 20, 50
"""The most open entries of an object and of a namespace. Nearly all open entries are of requests that failed after they
were allowed: others are open for milliseconds only."""
LONGEST_ENTRY, BYTES_OF_NAMESPACE, BYTES_OF_AUTHOR = 64 * 1024, 64 * 1024, 300 * 1024
"""The most bytes of one entry, of all open entries of a namespace, and of all open entries of an author. YuniKorn's own
ConfigMaps are exempt."""


class UnreadableEntry(ValueError):
    """This version cannot read an entry. The message names the entry and says why."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A change that was allowed and may be stored at any moment.

    `request`: the uid of the AdmissionReview.
    `ref`, `uid`: the object.
    `base`: the resource version that the change is based on; empty for a creation. The API server stores the change
    only on top of exactly this version.
    `after`: the object that is about to be stored; None for a deletion.
    `user`, `at`: who requested it and when (RFC 3339), for people.
    `text`: the entry as the ConfigMap has it.
    """

    request: str
    ref: Ref
    uid: str
    base: str
    after: KubeObject | None
    user: str
    at: str
    text: str

    @property
    def operation(self) -> ChangeOperation:
        if self.after is None:
            return ChangeOperation.DELETE
        return ChangeOperation.UPDATE if self.base else ChangeOperation.CREATE

    @property
    def author(self) -> str:
        """The author to whose share of the ledger the entry counts."""
        return author(self.user)

    def __str__(self) -> str:
        return f"{self.operation} of {self.ref} by {self.user} at {self.at}"


def new_entry(
    request: str,
    ref: Ref,
    old: Manifest | None,
    new: Manifest | None,
    user: str,
    at: str,
    *,
    orchestrated: bool = False,
) -> LedgerEntry:
    """The entry of one request, from the manifests that the API server sent. A new object has its uid already.

    `orchestrated`: see `policies.dialects.readers.read`.
    """
    there = metadata(new if old is None and new is not None else old or {})
    content = {
        "format": FORMAT,
        "object": list(ref),
        "uid": str(there.get("uid") or ""),
        "base": str(there.get("resourceVersion") or "") if old is not None else "",
        "user": user if len(user) <= _USER else f"{user[:_USER]}...{sha256(user.encode()).hexdigest()[:16]}",
        "at": at,
        **({"state": _zipped(new)} if new is not None else {}),
        **({"orchestrated": True} if orchestrated else {}),
    }
    return entry(request, json.dumps(content, separators=(",", ":")))


def author(user: str) -> str:
    """The author that a user counts as. All ServiceAccounts of a namespace are one, since a tenant can create many.

    Each ServiceAccount of `kube-system` is a separate author, because Kubernetes' own controllers use them.
    """
    if not user.startswith(_OF_SERVICE_ACCOUNT) or user.startswith(_OF_CONTROLLERS):
        return user
    return user.rpartition(":")[0]


@lru_cache(maxsize=4096)
def entry(request: str, text: str) -> LedgerEntry:
    """Read an entry from its text in the ledger. Raises UnreadableEntry."""
    try:
        content = json.loads(text)
        if content["format"] > FORMAT:
            raise ValueError(f"format {content['format']}")
        state = content.get("state")
        return LedgerEntry(
            request=request,
            ref=Ref(*map(str, content["object"])),
            uid=str(content["uid"]),
            base=str(content["base"]),
            after=None if state is None else _read(state, orchestrated="orchestrated" in content),
            user=str(content["user"]),
            at=str(content["at"]),
            text=text,
        )
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise UnreadableEntry(f"entry {request} cannot be read ({type(error).__name__}: {error})") from error


def _zipped(manifest: Manifest) -> str:
    return base64.b64encode(zlib.compress(json.dumps(_state(manifest), default=str).encode())).decode()


def _read(state: str, *, orchestrated: bool) -> KubeObject:
    unzip = zlib.decompressobj()
    manifest = json.loads(unzip.decompress(base64.b64decode(state), _LARGEST))
    found = read(mapping(manifest), orchestrated=orchestrated)
    if found is None:
        raise ValueError("not an object with quota")
    return found


def _state(manifest: Manifest) -> dict[str, Any]:
    """What the ledger keeps of the object: spec, status and data, the annotations with quota, and valid exemptions.

    Of a LocalQueue, which a tenant could fill with long text, only the name and its ClusterQueue are kept.
    """
    kind, there = group_kind(manifest), metadata(manifest)
    kept: dict[str, Any] = {key: there[key] for key in ("name", "namespace") if key in there}
    named = {key: manifest[key] for key in ("apiVersion", "kind")}
    if kind == kueue.LOCAL_QUEUE:
        queue = mapping(manifest.get("spec")).get("clusterQueue")
        return {**named, "metadata": kept, "spec": {"clusterQueue": queue}}
    notes = texts(there.get("annotations"))
    kept["annotations"] = {key: notes[key] for key in _QUOTA_NOTES.get(kind, ()) if key in notes} | _excuses(manifest)
    if kind == core.NAMESPACE:  # a ClusterQueue selects Namespaces by their labels
        return {**named, "metadata": {**kept, "labels": texts(there.get("labels"))}}
    return {**{key: manifest[key] for key in _KEPT if key in manifest}, "metadata": kept}


def _excuses(manifest: Manifest) -> dict[str, str]:
    """The annotations of valid exemptions, with their reasons shortened."""
    return {
        PREFIX + each.rule: f"{each.reason[:_REASON]}; until={each.until}"
        for each in exemptions(manifest)
        if not each.flaw
    }


def crowded(entry: LedgerEntry, entries: Sequence[LedgerEntry]) -> tuple[tuple[LedgerEntry, ...], str]:
    """The open entries that leave no room for this one, and a message; both empty if there is room."""
    if entry.ref.group_kind == CONFIG_MAP:
        return (), ""  # no limits: YuniKorn has only two ConfigMaps
    size = len(entry.text)
    if size > LONGEST_ENTRY:
        return (), f"{entry.ref} takes {size} bytes of the ledger, and one object may take {LONGEST_ENTRY}"
    namespace = entry.ref.namespace
    same = tuple(each for each in entries if each.ref == entry.ref)
    if len(same) >= MOST_OF_OBJECT:
        return same, f"{len(same)} other changes of {entry.ref} are not stored yet; try again in a minute"
    beside = tuple(each for each in entries if namespace and each.ref.namespace == namespace)
    if len(beside) >= MOST_OF_NAMESPACE or _bytes(beside) + size > BYTES_OF_NAMESPACE:
        return beside, f"{len(beside)} changes in namespace {namespace} are not stored yet; try again in a minute"
    own = tuple(each for each in entries if each.author == entry.author)
    if _bytes(own) + size > BYTES_OF_AUTHOR:
        return own, f"{len(own)} changes of {entry.author} are not stored yet; try again in a minute"
    return (), ""


def _bytes(entries: Sequence[LedgerEntry]) -> int:
    return sum(len(each.text) for each in entries)
