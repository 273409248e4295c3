"""Completes objects from files as the mutating webhook would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from policies import dialects
from policies.configuration.settings import Configuration
from policies.dialects import kueue_jobs
from policies.dialects.core import POD
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import Parsed
from policies.model.change import ChangeOperation
from policies.model.defect import Defect
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Node, Ref
from policies.mutation.defaults import patch
from policies.mutation.patching import patched

_UNREAD = frozenset({"/spec/reclaimable", "/spec/weight"})
"""The webhook adds these fields to nearly every Volcano queue. No dialect reads them, so nothing is read again."""


def stored(objects: Iterable[Parsed], world: Forest, configuration: Configuration) -> list[Parsed]:
    """Complete these objects as the webhook would when they are applied to the world. Work that the world already has
    is completed as for an update, not as for a creation: the switches of such a job (`suspend`) and the gates of such a
    Pod may have changed since then.
    """
    every = list(objects)
    alone = all(isinstance(it.object, Node) or it.object.ref.group == GROUP for it in every)
    around = world if alone else world.put_all(it.object for it in every)  # for work, which looks at its queue
    return [completed(it, around, configuration, _operation(it.object.ref, world)) for it in every]


def completed(
    written: Parsed, around: Forest, configuration: Configuration, operation: ChangeOperation = ChangeOperation.CREATE
) -> Parsed:
    """The object as it would be stored. It is the same value if the webhook adds nothing."""
    operations = patch(written.manifest, around, configuration, operation) if written.manifest is not None else []
    if written.manifest is None or not operations:
        return written
    manifest = patched(written.manifest, operations)
    if not written.object.defects and all(each["path"] in _UNREAD for each in operations):
        return Parsed(written.object, manifest)
    found = dialects.read(manifest)
    if found is None:
        return written
    return Parsed(replace(found, ref=written.object.ref, defects=_defects(written.object, found)), manifest)


def _defects(written: KubeObject, completed: KubeObject) -> tuple[Defect, ...]:
    """The defects of the completed object. Unknown fields are those of the object as written: beside a default that was
    filled in, a misspelt field would look like a second one.
    """
    return (*(it for it in completed.defects if not it.unknown), *(it for it in written.defects if it.unknown))


def _operation(ref: Ref, world: Forest) -> ChangeOperation:
    work = ref.group_kind in kueue_jobs.KINDS or ref.group_kind == POD
    return ChangeOperation.UPDATE if work and world.get(ref) is not None else ChangeOperation.CREATE
