"""The names that connect Workloads, jobs and groups of Pods.

Source: Kueue v0.19, pkg/controller/jobframework (workload names) and the gates ShortWorkloadNames and
WorkloadIdentifierAnnotations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects.kueue_jobs import POD_GROUP, PREBUILT, identifier
from policies.dialects.reading import Manifest, metadata, texts
from policies.model.objects import GroupKind

LONGEST, LONGEST_LABEL = 253, 63
"""The most characters of an object's name, and of a label's value."""
_HASH = 5


@dataclass(frozen=True, slots=True)
class Naming:
    """How names are made and found.

    annotated: whether identifiers are looked up in annotations before labels.
    short: whether names of Workloads fit into a label.
    """

    annotated: bool = True
    short: bool = False

    def group(self, pod: Manifest) -> str:
        """The group that a Pod names; empty if it names none."""
        return self._identifier(metadata(pod), POD_GROUP)

    def prebuilt(self, meta: Mapping[str, Any]) -> str:
        """The prebuilt Workload that a job names; empty if it names none."""
        return self._identifier(meta, PREBUILT)

    def workload(self, kind: GroupKind, name: str, uid: str) -> str:
        """The name of a job's Workload: kind, name, and a hash with the job's uid.

        It is the same as Kueue's, so that Kueue and Quotree find each other's Workloads.
        """
        longest = (LONGEST_LABEL if self.short else LONGEST) - 1 - _HASH
        hashed = "\n".join((kind.kind, kind.group, name, uid))
        digest = hashlib.sha1(hashed.encode(), usedforsecurity=False).hexdigest()
        return f"{kind.kind.lower()}-{name}"[:longest] + f"-{digest[:_HASH]}"

    def _identifier(self, meta: Mapping[str, Any], key: str) -> str:
        labels, annotations = texts(meta.get("labels")), texts(meta.get("annotations"))
        return identifier(labels, annotations, key, annotated=self.annotated)


NAMING = Naming()
"""The naming with Kueue's default gates."""


def workload_names(kind: GroupKind, name: str, uid: str) -> set[str]:
    """The names with and without the gate ShortWorkloadNames, which may have changed since the Workload was made."""
    return {Naming(short=short).workload(kind, name, uid) for short in (False, True)}
