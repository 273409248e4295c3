"""One entry of the ledger, and its form in a ConfigMap."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from policies.dialects import read
from policies.dialects.reading import Manifest, group_kind, mapping, metadata
from policies.model.change import ChangeOperation
from policies.model.objects import KubeObject, Ref

FORMAT = 1
"""Written into each entry. A replica that meets a higher one cannot read the entry, and allows no change of a tree."""

_LARGEST = 8 * 2**20
"""Bytes of an unzipped state. The API server accepts objects of 3 MiB."""

_DOMAINS = ("volcano.sh/", "yunikorn.apache.org/", "kueue.x-k8s.io/", "quotree.dev/")
_KEPT = ("apiVersion", "kind", "spec", "status", "data", "binaryData")


class UnreadableEntry(ValueError):
    """An entry that this version cannot read; the message says which."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A change that was allowed and may be stored at any moment.

    `request` is the uid of the AdmissionReview, `uid` that of the object. `base` is the resource version that it is
    based on, empty for a creation: the API server stores the change only on top of exactly that state. `after` is what
    is about to be stored, None for a deletion. `user` and `at` (RFC 3339) are for people. `text` is its form in the
    ledger.
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

    def __str__(self) -> str:
        return f"{self.operation} of {self.ref} by {self.user} at {self.at}"


def written(request: str, ref: Ref, old: Manifest | None, new: Manifest | None, user: str, at: str) -> LedgerEntry:
    """The entry of one request, from the manifests that the API server sent.

    A creation has its uid before it is stored.
    """
    there = metadata(new if old is None and new is not None else old or {})
    content = {
        "format": FORMAT,
        "object": list(ref),
        "uid": str(there.get("uid") or ""),
        "base": str(there.get("resourceVersion") or "") if old is not None else "",
        "user": user,
        "at": at,
        **({"state": _zipped(new)} if new is not None else {}),
    }
    return entry(request, json.dumps(content, separators=(",", ":")))


@lru_cache(maxsize=4096)
def entry(request: str, text: str) -> LedgerEntry:
    """The entry that stands in the ledger as `text`. Raises UnreadableEntry."""
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
            after=None if state is None else _read(state),
            user=str(content["user"]),
            at=str(content["at"]),
            text=text,
        )
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise UnreadableEntry(f"entry {request} cannot be read ({type(error).__name__}: {error})") from error


def _zipped(manifest: Manifest) -> str:
    return base64.b64encode(zlib.compress(json.dumps(_state(manifest), default=str).encode())).decode()


def _read(state: str) -> KubeObject:
    unzip = zlib.decompressobj()
    found = read(json.loads(unzip.decompress(base64.b64decode(state), _LARGEST)))
    if found is None:
        raise ValueError("not an object with quota")
    return found


def _state(manifest: Manifest) -> dict[str, Any]:
    """What the dialects read of an object that has quota; not the rest of its metadata."""
    there = metadata(manifest)
    kept: dict[str, Any] = {key: there[key] for key in ("name", "namespace", "labels") if key in there}
    notes = mapping(there.get("annotations"))
    kept["annotations"] = {key: note for key, note in notes.items() if any(domain in key for domain in _DOMAINS)}
    if group_kind(manifest).kind == "Namespace":
        return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": kept}
    return {**{key: manifest[key] for key in _KEPT if key in manifest}, "metadata": kept}
