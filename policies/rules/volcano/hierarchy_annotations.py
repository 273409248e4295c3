"""The rules about the annotations that place a Volcano queue in the tree of hierarchical DRF."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from policies.dialects.volcano import HIERARCHY, HIERARCHY_WEIGHTS, QUEUE, Queue, path_end, path_way, shortened
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import BOTH, STRICT_ONLY, Cause, Finding, Profile
from policies.model.forest import Forest
from policies.model.objects import Ref

_PATH = fields.join("metadata.annotations", HIERARCHY)
_WEIGHTS = fields.join("metadata.annotations", HIERARCHY_WEIGHTS)
_D, _H = "[0-9](_?[0-9])*", "[0-9a-fA-F](_?[0-9a-fA-F])*"
_DECIMAL = re.compile(rf"[+-]?({_D}(\.({_D})?)?|\.{_D})([eE][+-]?{_D})?").fullmatch
_HEXADECIMAL = re.compile(rf"[+-]?0[xX](_?{_H}(\.({_H})?)?|\.{_H})[pP][+-]?{_D}").fullmatch
_BEYOND_NUMBERS = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII).fullmatch
_MOST = 16  # the most weights of one queue that are reported; each message has all weights
_SHOWN = 120  # the most characters of an annotation that a message shows


@rule(
    "hierarchy-annotations-invalid", source="Volcano's webhook queues/validate: hierarchy annotations", kinds=(QUEUE,)
)
def hierarchy_annotations_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The annotations that place a Volcano queue in the tree of hierarchical DRF do not match.

    Why it is refused: each name of the path `volcano.sh/hierarchy` has one weight in `volcano.sh/hierarchy-weights`, a
    number above 0. If a weight is missing or unreadable, the scheduler cannot divide anything.
    Example: the path `root/eng/ml` with the weights `1/2`, or `1/0/3`.
    Fix: write as many weights as names, each above 0, such as `1/2/8`.
    """
    for _, queue in proposal.changed(Queue):
        path, weights = queue.hierarchy or "", queue.hierarchy_weights or ""
        if path or weights:
            yield from _lengths(queue, path, weights)
            yield from _weights(queue, path, weights)


def _lengths(queue: Queue, path: str, weights: str) -> Iterator[Finding]:
    names, numbers = path.split("/"), weights.split("/")
    if len(names) != len(numbers):
        yield Finding(
            queue.ref,
            _WEIGHTS,
            f"{_count(path, names, 'name')} in the path {_quoted(path)}, "
            f"{_count(weights, numbers, 'weight')} in {_quoted(weights)}",
            fix=f"give {HIERARCHY_WEIGHTS} one weight for each name of {HIERARCHY}",
            subject="length",
            excess=abs(len(names) - len(numbers)),
            follows=((queue.ref, _WEIGHTS),),  # `1,4` is one weight that is not a number, and one too few
        )
    elif "" in names:
        yield Finding(
            queue.ref,
            _PATH,
            f"a name in the path {_quoted(path)} is empty",
            fix="write a path such as root/eng/ml",
            subject="name",
            profiles=STRICT_ONLY,
        )


def _count(text: str, parts: list[str], word: str) -> str:
    number = len(parts) if text else 0
    return f"{number} {word}" + ("" if number == 1 else "s")


def _quoted(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def _weights(queue: Queue, path: str, weights: str) -> Iterator[Finding]:
    """Findings about single weights. If a path has no weights at all, `_lengths` reports it."""
    if not weights and "/" in path:
        return
    flawed = ((i, text, *flaw) for i, text in enumerate(weights.split("/")) if (flaw := _flaw(text))[0])
    for i, text, wrong, profiles in islice(flawed, _MOST):
        yield Finding(
            queue.ref,
            _WEIGHTS,
            f"the weight {_quoted(text)} in {_quoted(weights)} {wrong}",
            fix="write a number above 0, such as 1 or 2.5",
            subject=str(i),
            profiles=profiles,
        )


def _flaw(text: str) -> tuple[str, frozenset[Profile]]:
    """The fault of a weight and its profiles; the fault is empty if Go's ParseFloat reads a number above 0."""
    if _BEYOND_NUMBERS(text):
        return "is not a finite number", BOTH if text.startswith("-") else STRICT_ONLY
    if not (_DECIMAL(text) or _HEXADECIMAL(text)):
        return "is not a number", BOTH
    try:
        number = float.fromhex(text.replace("_", "")) if _HEXADECIMAL(text) else float(text)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        return "is too large for a number", BOTH
    return ("", BOTH) if number > 0 else ("is not above 0", BOTH)


@rule("hierarchy-path-nested", source="Volcano's webhook queues/validate: hierarchy annotations", kinds=(QUEUE,))
def hierarchy_path_nested(proposal: Proposal) -> Iterator[Finding]:
    """A Volcano queue is a descendant of another one in the tree of hierarchical DRF.

    Why it is refused: in this tree all queues are leaves. A queue on the path to another one would be a leaf and an
    inner node at once. Volcano only checks the queues below the new one; this rule also checks its ancestors.
    Example: queue `eng` has `volcano.sh/hierarchy: root/eng`, and a queue with `root/eng/ml` is created.
    Fix: give the ancestor a leaf of its own, such as `root/eng/rest`.
    """
    for _, queue in proposal.changed(Queue):
        if not queue.hierarchy:
            continue
        for other in _above(queue, proposal.after):
            yield _finding(queue, other, "is below", f"below {other.name}", STRICT_ONLY)
        lower = _below(queue, proposal.after)
        if lower is not None:
            yield _finding(queue, lower, "is above", "above", BOTH)


def _above(queue: Queue, forest: Forest) -> list[Queue]:
    """The queues that its path leads through, by name. An index finds them, so other queues are not visited."""
    path = queue.hierarchy or ""
    ends = (ref for place in shortened(path) for ref in forest.users(path_end(place)))
    return [other for other in _queues(ends, forest) if path.startswith(f"{other.hierarchy}/")]


def _below(queue: Queue, forest: Forest) -> Queue | None:
    """The first queue by name whose path leads through the path of this one, or None."""
    path = queue.hierarchy or ""
    ways = forest.users(path_way(shortened(path)[-1]))
    return next((other for other in _queues(ways, forest) if (other.hierarchy or "").startswith(f"{path}/")), None)


def _queues(refs: Iterable[Ref], forest: Forest) -> Iterator[Queue]:
    for ref in sorted(refs):
        other = forest.node(ref)
        if isinstance(other, Queue) and other.hierarchy:
            yield other


def _finding(queue: Queue, other: Queue, where: str, subject: str, profiles: frozenset[Profile]) -> Finding:
    return Finding(
        queue.ref,
        _PATH,
        f"its path {queue.hierarchy} {where} that of queue {other.name}, {other.hierarchy}",
        fix="give each queue a path that no other queue continues",
        subject=subject,
        causes=(Cause(other.ref, _PATH, f"has the path {other.hierarchy}"),),
        profiles=profiles,
    )
