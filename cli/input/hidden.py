"""Finds the objects that a change does not remove, but hides: files that have them are skipped since the change.

Example: `eng.yaml` becomes the template `eng.yaml.j2`. The Queue stays, but nobody judges it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import PurePath

from analysis.inputs import Placed
from cli.input.folders import PassedOver, PassedOverReason
from cli.output import first_of
from policies.model.objects import Ref

_WHY = {
    PassedOverReason.TEMPLATE: "is a template",
    PassedOverReason.CHART: "is of a chart that is not rendered",
    PassedOverReason.PATCH: "is a patch of a kustomization",
    PassedOverReason.EXCLUDED: "is excluded",
}
"""The reasons that hide objects, in the words of a sentence about the file."""
_UNREAD = (PassedOverReason.PATCH, PassedOverReason.EXCLUDED)
"""The reasons for which the content of the file is not looked at."""
_NAMED = 3
"""The most objects of a file that a sentence names."""


def hidden(
    objects: Mapping[Ref, Placed],
    before: Collection[PassedOver],
    now: Iterable[PassedOver],
    moved: Callable[[str], str] = os.path.normpath,
) -> dict[Ref, PassedOver]:
    """The objects that may now be only in a file that is skipped since the change, each with this file.

    objects: the objects before the change. before, now: the skipped files and folders.
    moved: the path that a file had before.
    """
    known = {(os.path.normpath(each.file), each.reason, each.hides) for each in before}
    new = [it for it in now if it.reason in _WHY and (moved(it.file), it.reason, it.hides) not in known]
    declared, unread = declaring(new), {moved(it.file): it for it in new if it.reason in _UNREAD}
    found = {}
    for ref, placed in objects.items():
        source = PurePath(os.path.normpath(placed.document.source))
        around = [str(at) for at in (source, *source.parents)]
        skipped = declared(ref) or next((unread[at] for at in around if at in unread), None)
        if skipped is not None:
            found[ref] = skipped
    return found


def sentence(skipped: PassedOver, refs: Sequence[Ref], done: str) -> str:
    """Say that the objects are no longer judged or compared, and why. `done`: "judged" or "compared"."""
    objects = f"{first_of([*map(str, refs)], _NAMED)} {'is' if len(refs) == 1 else 'are'}"
    return f"since this change {skipped.file} {_WHY[skipped.reason]}, so {objects} no longer {done}"


def declaring(skipped: Iterable[PassedOver]) -> Callable[[Ref], PassedOver | None]:
    """A function that finds the skipped file which may declare an object."""
    by_name = {(ref.group_kind, ref.name): each for each in skipped for ref in each.hides}
    return lambda ref: by_name.get((ref.group_kind, ref.name)) or by_name.get((ref.group_kind, ""))
