"""Suggests names for an unknown name. All messages with `did you mean` use this module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches

_SLIPS = 3  # the most wrong letters; with more it is another name
_CHOICES = 3  # the most names of a question; a user looks up a longer list elsewhere
_SHORTEST = 3  # the fewest letters of a word that may be misspelt: `eu` and `us` are two words
_LISTED = 60  # the most names that are listed
_LETTERS = "abcdefghijklmnopqrstuvwxyz-."
_LONGEST = 63  # the most characters of a name that is compared; a longer one would take thousands of look-ups


def close(wrong: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most similar to the wrong one; None if none is similar."""
    return next(iter(get_close_matches(str(wrong), list(known), n=1, cutoff=cutoff)), None)


def suggest(wrong: object, known: Iterable[str]) -> str:
    """The question for the closest name, or else the list of all known names; empty if they are too many."""
    names = list(dict.fromkeys(known))
    near = close(wrong, names)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"known here: {', '.join(names)}" if len(names) <= _LISTED else ""


def bare(name: str) -> str:
    """The name in lower case without separators."""
    return name.replace("_", "").replace("-", "").lower()


def only(wrong: str, known: Iterable[str]) -> str:
    """The only known name that the wrong one is a misspelling of; empty if there are none or several."""
    near = KnownNames(known).near(wrong)
    return near[0] if len(near) == 1 else ""


def certain(wrong: str, known: Iterable[str]) -> str:
    """The known name in another case, or else the only one that it misspells; empty if it is not certain."""
    names = list(known)
    same = [name for name in names if name.lower() == wrong.lower()]
    return (same[0] if len(same) == 1 else "") if same else only(wrong, names)


def did_you_mean(near: Sequence[str]) -> str:
    """The question about similar names, of which there is at least one. If there are several, the user must choose."""
    return f"did you mean {' or '.join(near[:_CHOICES])}?"


def choice(wrong: str, words: Sequence[str]) -> tuple[str, str | None]:
    """The fix where one of a few words without digits is expected, and the word that is meant.

    A digit counts as a wrong letter here. The word is None if it is not certain.
    """
    meant = certain(wrong, words) or certain("".join(each for each in wrong if not each.isdigit()), words)
    if meant:
        return did_you_mean([meant]), meant
    return (f"write {' or '.join(words)}" if len(words) == 2 else f"write one of {', '.join(words)}"), None


class KnownNames:
    """Names of objects, to find the one that was meant. Only names with the same digits and a similar length count."""

    def __init__(self, names: Iterable[str]):
        self._names = frozenset(names)
        self._by_form: dict[tuple[str, int], list[tuple[str, frozenset[str]]]] = {}
        for name in sorted(self._names):
            self._by_form.setdefault((_digits(name), len(name)), []).append((name, frozenset(name.lower())))

    def nearest(self, wrong: str) -> str | None:
        """The most similar name, and of several the first by name; None if the name is not a misspelling of any."""
        return next(iter(self.near(wrong)), None)

    def near(self, wrong: str) -> list[str]:
        """All names that it may misspell, the most similar first. Without any, those with one 0 more or less."""
        if len(wrong) > _LONGEST:
            return []
        digits, letters = _digits(wrong), frozenset(wrong.lower())
        lengths = range(len(wrong) - _SLIPS, len(wrong) + _SLIPS + 1)
        alike = (
            name
            for length in lengths
            for name, others in self._by_form.get((digits, length), ())
            if len(letters ^ others) <= 2 * _SLIPS  # a wrong letter is one difference in each of the two sets
        )
        near = ((slips, name) for name in alike if (slips := _slips_between(wrong, name)))
        return [name for _, name in sorted(near)] or _existing(_zero_slips(wrong), self._names.__contains__)


def is_slip(wrong: str, name: str) -> bool:
    """Whether `wrong` may be a misspelling of `name`: at most one letter in four of each word is wrong, and none in
    words of two letters.

    `east` and `west`, `eu` and `us`, `team-1` and `team-2` are different names. `H100` means `h100`, since names in
    Kubernetes have no capital letters.
    """
    return _digits(wrong) == _digits(name) and _slips_between(wrong, name) > 0


def _slips_between(wrong: str, name: str) -> int:
    """How many letters are missing, added, wrong or swapped; 0 for none, and for too many to be a misspelling."""
    if wrong.lower() == name.lower():
        return int(wrong != name)
    ours, theirs = _words(wrong), _words(name)
    if len(ours) != len(theirs):
        slips = _distance(wrong, name, 1)
        return slips if slips <= 1 and min(len(wrong), len(name)) >= _SHORTEST else 0
    total = 0
    for one, other in zip(ours, theirs, strict=True):
        if one == other:
            continue
        longer = max(map(_letters, (one, other)))
        most = min(_SLIPS, max(1, longer // 4)) if longer >= _SHORTEST else int(_are_units(one, other))
        slips = _distance(one, other, most)
        if slips > most:
            return 0
        total += slips
    return total if total <= _SLIPS else 0


def _are_units(one: str, other: str) -> bool:
    """Whether both are numbers with a unit, and one unit has an additional letter: `80g` and `80gb`."""
    return len(one) != len(other) and all(word[:1].isdigit() and _letters(word) for word in (one, other))


def _words(name: str) -> list[str]:
    return name.replace(".", "-").split("-")


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _letters(word: str) -> int:
    """How many characters are not digits. Only these may be wrong: `a100` and `h100` are different names."""
    return sum(not letter.isdigit() for letter in word)


def _distance(one: str, other: str, most: int) -> int:
    """The Damerau-Levenshtein distance, with each letter in at most one swap.

    Any distance above `most` is returned as `most` + 1.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def missing(kind: str, name: str, known: Iterable[str]) -> str:
    """The message for a reference to an object that does not exist. `known`: the names of existing objects."""
    near = close(name, known)
    return f"{kind} {name} does not exist; " + (f"did you mean {near}?" if near else "create it or name another")


def write_or_create(kind: str, name: str, near: Sequence[str]) -> str:
    return did_you_mean(near) if near else f"create {kind} {name}"


def slips(name: str, exists: Callable[[str], bool]) -> list[str]:
    """The existing names that differ by one letter, which is missing, added, wrong or swapped. Digits must be the same.

    For clusters that are too large for `KnownNames`: it takes about 60 look-ups for each character, independent of the
    number of names.
    """
    if len(name) > _LONGEST:
        return []
    found = [other for other in dict.fromkeys(_slips(name)) if is_slip(name, other) and exists(other)]
    return found or _existing(_zero_slips(name), exists)


def _existing(names: Iterable[str], exists: Callable[[str], bool]) -> list[str]:
    return [name for name in dict.fromkeys(names) if exists(name)]


def _zero_slips(name: str) -> Iterator[str]:
    """The names with one 0 more or less in a word that begins with a letter, such as `h100-spot` for `h10-spot`.

    Only for names with several words: `a10` and `a100` alone are different names, and so are numbers.
    """
    words = _words(name)
    start = 0
    for word in words:
        others = (other for other in words if other is not word)
        if word[:1].isalpha() and any(_letters(other) >= _SHORTEST for other in others):
            for at in range(start, start + len(word)):
                if name[at] == "0":
                    yield name[:at] + "0" + name[at:]
                    if name[at - 1] == "0":
                        yield name[:at] + name[at + 1 :]
        start += len(word) + 1


def _slips(name: str) -> Iterator[str]:
    yield name.lower()
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
