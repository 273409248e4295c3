"""What to write in place of a name that nobody knows: the one `did you mean` of the project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches

_LISTED = 60  # names; a longer list helps nobody
_LETTERS = "abcdefghijklmnopqrstuvwxyz-."
_LONGEST = 63  # characters; a longer name is no slip of the finger, and would take thousands of look-ups


def close(wrong: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most like the wrong one; None where none is."""
    return next(iter(get_close_matches(str(wrong), list(known), n=1, cutoff=cutoff)), None)


def suggest(wrong: object, known: Iterable[str]) -> str:
    """The close name, else all that are known; empty where these are too many to list."""
    names = list(dict.fromkeys(known))
    near = close(wrong, names)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"known here: {', '.join(names)}" if len(names) <= _LISTED else ""


def write_or_create(kind: str, name: str, exists: Callable[[str], bool]) -> str:
    """The fix for a reference to an object that does not exist."""
    near = slip(name, exists)
    return f"write {near} if that was meant" if near else f"create {kind} {name}"


def slip(name: str, exists: Callable[[str], bool]) -> str | None:
    """The first name in use that is one letter away: missing, added, wrong or two swapped. Digits are never slips.

    `team-1` and `team-2` are two teams. Costs some 60 look-ups for each character, however many names there are.
    """
    if len(name) > _LONGEST:
        return None
    return next((other for other in _slips(name) if other != name and exists(other)), None)


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
