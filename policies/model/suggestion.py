"""What to write in place of a name that nobody knows: the one `did you mean` of the project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches

_SLIPS = 3  # letters; more are another name
_CHOICES = 3  # names; who must choose among more looks them up
_SHORTEST = 3  # letters of a word that may have a slip: `eu` and `us` are both meant
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


def bare(name: str) -> str:
    """The name without case and separators."""
    return name.replace("_", "").replace("-", "").lower()


def only(wrong: str, known: Iterable[str]) -> str:
    """The one known name that differs by slips; empty where none or several do, so that nothing is certain."""
    near = KnownNames(known).near(wrong)
    return near[0] if len(near) == 1 else ""


def certain(wrong: str, known: Iterable[str]) -> str:
    """The same name in another case, else the only one that differs by slips; empty where nothing is certain."""
    names = list(known)
    same = [name for name in names if name.lower() == wrong.lower()]
    return (same[0] if len(same) == 1 else "") if same else only(wrong, names)


def did_you_mean(near: Sequence[str]) -> str:
    """The question about the names that are near, at least one: of several a person must choose."""
    return f"did you mean {' or '.join(near[:_CHOICES])}?"


def choice(wrong: str, words: Sequence[str]) -> tuple[str, str | None]:
    """The cure where one of a few fixed words without digits is expected, and the word that is meant.

    A digit is then a slip as well. None for the word if it is not certain.
    """
    meant = certain(wrong, words) or certain("".join(each for each in wrong if not each.isdigit()), words)
    if meant:
        return did_you_mean([meant]), meant
    return (f"write {' or '.join(words)}" if len(words) == 2 else f"write one of {', '.join(words)}"), None


class KnownNames:
    """Names of objects, to find the one that was meant. Looks at those with the same digits and a similar length."""

    def __init__(self, names: Iterable[str]):
        self._names = frozenset(names)
        self._by_form: dict[tuple[str, int], list[tuple[str, frozenset[str]]]] = {}
        for name in sorted(self._names):
            self._by_form.setdefault((_digits(name), len(name)), []).append((name, frozenset(name.lower())))

    def nearest(self, wrong: str) -> str | None:
        """The one that differs least, and the first by name of several; None where all differ by more than slips."""
        return next(iter(self.near(wrong)), None)

    def near(self, wrong: str) -> list[str]:
        """All that differ by slips only, the nearest first; if there are none, those with one 0 more or less."""
        if len(wrong) > _LONGEST:
            return []
        digits, letters = _digits(wrong), frozenset(wrong.lower())
        lengths = range(len(wrong) - _SLIPS, len(wrong) + _SLIPS + 1)
        alike = (
            name
            for length in lengths
            for name, others in self._by_form.get((digits, length), ())
            if len(letters ^ others) <= 2 * _SLIPS  # a slip puts one letter in place of another
        )
        near = ((slips, name) for name in alike if (slips := _slips_between(wrong, name)))
        return [name for _, name in sorted(near)] or _existing(_zero_slips(wrong), self._names.__contains__)


def is_slip(wrong: str, name: str) -> bool:
    """Whether one may be written for the other: in each word a letter in four at most, and no word of two letters.

    `east` and `west`, `eu` and `us`, `team-1` and `team-2` are different on purpose. `H100` is `h100`: Kubernetes has
    no names with capital letters.
    """
    return _digits(wrong) == _digits(name) and _slips_between(wrong, name) > 0


def _slips_between(wrong: str, name: str) -> int:
    """How many letters are missing, added, wrong or swapped; 0 for none, and for more than slips."""
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
    """How many are not digits: `a100` and `h100` are different on purpose, as `a` and `h` are."""
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
    """The sentence about an object that is named and does not exist; `known` are the names of those that do."""
    near = close(name, known)
    return f"{kind} {name} does not exist; " + (f"did you mean {near}?" if near else "create it or name another")


def write_or_create(kind: str, name: str, near: Sequence[str]) -> str:
    """The fix for a reference to an object that does not exist."""
    return did_you_mean(near) if near else f"create {kind} {name}"


def slips(name: str, exists: Callable[[str], bool]) -> list[str]:
    """The names in use that are one letter away: missing, added, wrong or two swapped. Other digits are other names.

    `team-1` and `team-2` are two teams. For worlds too large for `KnownNames`: costs some 60 look-ups for each
    character, however many names there are.
    """
    if len(name) > _LONGEST:
        return []
    found = [other for other in dict.fromkeys(_slips(name)) if is_slip(name, other) and exists(other)]
    return found or _existing(_zero_slips(name), exists)


def _existing(names: Iterable[str], exists: Callable[[str], bool]) -> list[str]:
    return [name for name in dict.fromkeys(names) if exists(name)]


def _zero_slips(name: str) -> Iterator[str]:
    """The names in which a word that begins with a letter has one 0 more or less in a row: `h100-spot` for `h10-spot`.

    Only where another word says what it is: `a10` and `a100` alone are different on purpose, and so are numbers.
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
