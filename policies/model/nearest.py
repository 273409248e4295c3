"""Names that differ from a wrong one by a single slip, found without looking at all names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

_LETTERS = "abcdefghijklmnopqrstuvwxyz-."
_LONGEST = 63  # characters; a longer name is no slip of the finger, and would take thousands of look-ups


def nearest(name: str, exists: Callable[[str], bool]) -> str | None:
    """The first name in use that is one letter away: missing, added, wrong or two swapped. Digits are never slips.

    `team-1` and `team-2` are two teams. Costs some 60 look-ups for each character, however many names there are.
    """
    if len(name) > _LONGEST:
        return None
    return next((slip for slip in _slips(name) if slip != name and exists(slip)), None)


def _slips(name: str) -> Iterator[str]:
    for i in range(len(name)):
        head, letter, tail = name[:i], name[i], name[i + 1 :]
        if letter.isdigit():
            continue
        yield head + tail
        if tail and not tail[0].isdigit():
            yield head + tail[0] + letter + tail[1:]
        for other in _LETTERS:
            yield head + other + tail
    for i in range(len(name) + 1):
        for letter in _LETTERS:
            yield name[:i] + letter + name[i:]
