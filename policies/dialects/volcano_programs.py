"""Finds the Pods that run Volcano's programs."""

from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.reading import Manifest, listing, mapping, text

VC_CONTROLLER, VC_SCHEDULER = "vc-controller-manager", "vc-scheduler"
"""The names of the programs. They are also the field managers of their writes."""
QUEUE_CONTROLLER = "queue-controller"


def program_of(pod: Manifest) -> str | None:
    """The program that a Pod runs; None for other Pods, and for vc-controller-manager without its queue controller."""
    for container in map(mapping, listing(mapping(pod.get("spec")).get("containers"))):
        words = [text(word) or "" for key in ("command", "args") for word in listing(container.get(key))]
        names = ((text(container.get("image")) or "").partition("@")[0], *words[:1])
        for program in (VC_CONTROLLER, VC_SCHEDULER):
            if any(_base(name).endswith(program) for name in names):
                return program if program != VC_CONTROLLER or manages_queues(words) else None
    return None


def manages_queues(words: list[str]) -> bool:
    """Whether vc-controller-manager with these arguments runs its queue controller."""
    chosen = [name for value in _values(words, "--controllers") for name in value.split(",")]
    for name in chosen:
        if name.lstrip("+-") == QUEUE_CONTROLLER:
            return not name.startswith("-")
    return not chosen or "*" in chosen


def _values(words: list[str], option: str) -> Iterator[str]:
    for word, following in zip(words, [*words[1:], ""], strict=False):
        key, equals, value = word.partition("=")
        if key == option:
            yield value if equals else following


def _base(name: str) -> str:
    """The last part of a path or of an image name, without the tag."""
    return name.rpartition("/")[2].partition(":")[0]
