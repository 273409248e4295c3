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
from policies.model.forest import Forest
from policies.model.objects import Defect, KubeObject, Node, Ref
from policies.mutation.defaults import patch
from policies.mutation.patching import patched

_UNREAD = frozenset({"/spec/reclaimable", "/spec/weight"})
"""Fields that the webhook adds to nearly every Volcano queue. No dialect reads them: it is not read again."""


def stored(objects: Iterable[Parsed], world: Forest, configuration: Configuration) -> list[Parsed]:
    """Complete these objects as the webhook would if they were applied to the world.

    Work that the world has is completed as for an update, since its `suspend` field or its gates may have changed since
    it was created.
    """
    every = list(objects)
    alone = all(isinstance(it.object, Node) or it.object.ref.group == GROUP for it in every)
    around = world if alone else world.put_all(it.object for it in every)  # work needs its queue
    return [completed(it, around, configuration, _operation(it.object.ref, world)) for it in every]


def completed(
    written: Parsed, around: Forest, configuration: Configuration, operation: ChangeOperation = ChangeOperation.CREATE
) -> Parsed:
    """The object as it would be stored; the same object if the webhook adds nothing."""
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
    """The defects of the completed object, but the unknown fields of the object as written: next to an added default, a
    misspelt field would look like an additional field."""
    return (*(it for it in completed.defects if not it.unknown), *(it for it in written.defects if it.unknown))


def _operation(ref: Ref, world: Forest) -> ChangeOperation:
    work = ref.group_kind in kueue_jobs.KINDS or ref.group_kind == POD
    return ChangeOperation.UPDATE if work and world.get(ref) is not None else ChangeOperation.CREATE
