"""Kubernetes quantities as exact integers, and mappings of quantities by resource name.

The grammar is that of apimachinery's `ParseQuantity`: a sign, digits with an optional fraction, then one of the
suffixes n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent as in 1e3. Nothing else is allowed, not even a blank. As
in Go, a value finer than one nano is rounded away from zero, and a value with a binary suffix is capped at the largest
int64.

There are three intended differences to Go:
- A text without a digit is refused. (`ParseQuantity` reads "m", "Ki", "+" and "." as zero, against its own grammar.)
- A text of more than `MAX_LENGTH` characters, an exponent beyond `MAX_EXPONENT` and a value of 1e900 or more are
  refused, since a sum with 1e999999999 would take gigabytes. (Go accepts it, and exponents wrap around at 32 bits.)
- Canonical text never loses its suffix: 1000E prints as 1e21, and a binary sum beyond Ei prints in Ei. (apimachinery
  0.36 prints 1 for it.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import ClassVar, Literal, TypeAlias

Format: TypeAlias = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

INT64_MAX = 2**63 - 1
MAX_LENGTH = 1000
"""The most characters of a quantity. The longest one that makes sense in a cluster has about 20."""
_SHORT = 32
"""The most characters of a quantity that is cached."""
MAX_EXPONENT = 900
"""The largest exponent, positive or negative. Below MAX_LENGTH, so that a canonical text can be read again."""

_UNIT = 10**9
"""The nano units in one whole unit."""
_MILLI = 10**6
"""The nano units in one milli unit."""
_BINARY_CAP = INT64_MAX * _UNIT
_TOO_LARGE = 10**MAX_EXPONENT * _UNIT
_DECIMAL_SUFFIXES = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
_SUFFIXES: dict[str, tuple[int, int, Format]] = {
    suffix: (10 ** (9 + power), 1, "DecimalSI") for power, suffix in _DECIMAL_SUFFIXES.items()
}
"""The value of each suffix in nano, as factor and divisor, and its format."""
_SUFFIXES |= {suffix: (_UNIT << 10 * power, 1, "BinarySI") for power, suffix in enumerate(_BINARY_SUFFIXES) if suffix}
_GRAMMAR = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)").fullmatch


class BadQuantity(ValueError):
    """The value is not a Kubernetes quantity. The message has the value, the fault, and a fix if it is obvious."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quantity:
    """An exact amount in units of 1e-9. Quantities are compared by value: 1Gi equals 1024Mi."""

    nano: int
    format: Format = "DecimalSI"
    written: str = ""
    """The text that it was read from; empty for a computed quantity."""
    is_number: bool = False
    """Whether it was read from a number, not from a text."""

    ZERO: ClassVar[Quantity]

    @staticmethod
    def parse(value: object) -> Quantity:
        """Read a text or an integer of a manifest. Raises BadQuantity, also for booleans and floats."""
        if isinstance(value, str):
            return _parse_short(value) if len(value) <= _SHORT else _parse(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if value.bit_length() > 3321:  # over 1000 digits; checked first, since printing a huge integer takes long
                raise BadQuantity(f"an integer of more than {MAX_LENGTH} digits is too large for a quantity")
            return _parse_number(value)
        raise BadQuantity(_wrong_type(value))

    @staticmethod
    def decode(value: object) -> Quantity:
        """Like `parse`, but a number may have a fraction, as in kinds that Go decodes without a schema."""
        return Quantity.parse(str(value) if isinstance(value, float | Decimal) else value)

    @staticmethod
    def read(value: object) -> Quantity | None:
        """Like `decode`; None if the value is not a quantity."""
        try:
            return Quantity.decode(value)
        except BadQuantity:
            return None

    @staticmethod
    def of_nano(nano: int, like: Format = "DecimalSI") -> Quantity:
        """A computed quantity of `nano` billionths of a unit, printed in the format `like`."""
        return Quantity(nano, like)

    @property
    def text(self) -> str:
        """The text as the user wrote it; for a computed quantity, the canonical text."""
        return self.written or str(self)

    @property
    def value(self) -> str | int:
        """The quantity as it should be written into another field: a number if it was read from one, else a text."""
        return int(self.text) if self.is_number else self.text

    def units(self) -> int:
        """Whole units, rounded away from zero (apimachinery's Value, without its overflow)."""
        return _divide_away_from_zero(self.nano, _UNIT)

    def milli(self) -> int:
        """Thousandths, rounded away from zero (apimachinery's MilliValue, without its overflow)."""
        return _divide_away_from_zero(self.nano, _MILLI)

    def __str__(self) -> str:
        """The canonical text: no fraction, and the largest suffix without one (apimachinery's CanonicalizeBytes)."""
        if self.nano == 0:
            return "0"
        if self.format == "BinarySI" and abs(self.nano) >= 1024 * _UNIT and self.nano % _UNIT == 0:
            return _binary_text(self.nano // _UNIT)
        return _decimal_text(self.nano, with_exponent=self.format == "DecimalExponent")

    def __repr__(self) -> str:
        return f"Quantity({self.text!r})"

    def __add__(self, other: Quantity) -> Quantity:
        """The exact sum, in the format of the first operand that is not zero."""
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format)

    def __hash__(self) -> int:
        return hash(self.nano)

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano if isinstance(other, Quantity) else NotImplemented

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano if isinstance(other, Quantity) else NotImplemented

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano if isinstance(other, Quantity) else NotImplemented

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano if isinstance(other, Quantity) else NotImplemented


Quantity.ZERO = Quantity(0, "DecimalSI", "0")


# -- quantities by resource name ---------------------------------------------------------------------------------------

Quantities: TypeAlias = Mapping[str, Quantity]
"""Quantities by resource name."""


def add(a: Quantities, b: Quantities) -> dict[str, Quantity]:
    """The sum of each resource. A resource that one side lacks counts as zero."""
    return {name: a.get(name, Quantity.ZERO) + b.get(name, Quantity.ZERO) for name in {**a, **b}}


def product(a: Quantity, b: Quantity) -> Quantity:
    """a * b in the format of `a`. If it is finer than one nano, it is rounded away from zero."""
    return Quantity(_divide_away_from_zero(a.nano * b.nano, _UNIT), a.format)


def canonical(value: object) -> object:
    """The quantity in Kubernetes' canonical form. A value that is not a quantity is returned unchanged."""
    quantity = Quantity.read(value)
    return value if quantity is None else str(quantity)


def maximum(a: Quantities, b: Quantities) -> dict[str, Quantity]:
    """The larger amount of each resource. If only one side has a resource, its amount."""
    return {name: max(a.get(name, amount), b.get(name, amount)) for name, amount in {**a, **b}.items()}


def minimum(a: Quantities, b: Quantities) -> dict[str, Quantity]:
    """The smaller amount of each resource. If only one side has a resource, its amount."""
    return {name: min(a.get(name, amount), b.get(name, amount)) for name, amount in {**a, **b}.items()}


# -- reading -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    match = _GRAMMAR(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise BadQuantity(_complaint(text))
    sign, whole, fraction, suffix = match.groups()
    decimals = fraction or ""
    nano, kind = _magnitude(text, whole + decimals, len(decimals), suffix)
    return Quantity(-nano if sign == "-" else nano, kind, text)


@lru_cache(maxsize=4096)
def _parse_number(number: int) -> Quantity:
    return replace(_parse(str(number)), is_number=True)


_parse_short = lru_cache(maxsize=4096)(_parse)  # a cluster has the same few quantities many times


def _magnitude(text: str, digits: str, decimals: int, suffix: str) -> tuple[int, Format]:
    factor, divisor, kind = _SUFFIXES.get(suffix) or _exponent(text, suffix)
    nano = _divide_away_from_zero(int(digits) * factor, divisor * 10**decimals)
    if kind == "BinarySI":
        nano = min(nano, _BINARY_CAP)
        return nano, "DecimalSI" if 0 < nano < _UNIT else kind
    if nano >= _TOO_LARGE:
        raise BadQuantity(f"{_shown(text)} is too large for a quantity: the limit is 1e{MAX_EXPONENT}")
    return nano, kind


def _exponent(text: str, suffix: str) -> tuple[int, int, Format]:
    """The value of `e<exponent>` in nano, as factor and divisor, and its format."""
    power = int(suffix[1:]) + 9
    if abs(power - 9) > MAX_EXPONENT:
        raise BadQuantity(f"{_shown(text)} is not a valid quantity: its exponent lies beyond {MAX_EXPONENT}")
    return 10 ** max(power, 0), 10 ** max(-power, 0), "DecimalExponent"


def _divide_away_from_zero(nano: int, divisor: int) -> int:
    return -(-nano // divisor) if nano >= 0 else nano // divisor


def _decimal_text(nano: int, *, with_exponent: bool) -> str:
    power = -9
    while nano % 1000 == 0:
        nano //= 1000
        power += 3
    if with_exponent or power not in _DECIMAL_SUFFIXES:
        return f"{nano}e{power}" if power else str(nano)
    return f"{nano}{_DECIMAL_SUFFIXES[power]}"


def _binary_text(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < 6:
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIXES[power]}"


# -- messages about faults ---------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(.*)", re.DOTALL).fullmatch
_FORM = "write digits and one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, as in 4, 500m or 64Gi"


def _complaint(text: str) -> str:
    if not text:
        return f"an empty string is not a valid quantity: {_FORM}"
    return f"{_shown(text)} is not a valid quantity: {_fault(text)}"


def _fault(text: str) -> str:
    if len(text) > MAX_LENGTH:
        return f"it has {len(text)} characters, at most {MAX_LENGTH} are read"
    if any(character.isspace() for character in text):
        return "it contains a blank" + _cure("".join(text.split()), " without the blank")
    if "_" in text:
        return "it contains an underscore" + _cure(text.replace("_", ""), " without the underscore")
    if "," in text:
        return "it contains a comma, write no separators but the decimal point"
    strange = next((character for character in text if not character.isascii()), "")
    if strange:
        return f"{strange!r} is not an ASCII character" + _cure(_in_ascii(text))
    number = _NUMBER(text)
    if number is None:
        return f"it does not start with a number, {_FORM}"
    return f"the suffix {_shown(number[2])} is unknown" + _suffix_cure(number[1], number[2])


def _suffix_cure(number: str, suffix: str) -> str:
    two_meanings = len(suffix) == 1 and suffix not in "bB"
    return _cure(_of_suffix(number, suffix), f" or {number}{suffix.upper()}i" if two_meanings else "")


def correction(value: object) -> str | None:
    """The quantity that an invalid value certainly means; None if it is not certain."""
    if isinstance(value, float | Decimal):
        text = str(value)
    elif isinstance(value, str) and len(value) <= MAX_LENGTH:
        text = _in_ascii("".join(value.split()).replace("_", ""))
    else:
        return None
    if not _GRAMMAR(text) and (number := _NUMBER(text)) is not None and len(number[2]) > 1:
        text = _of_suffix(*number.groups())
    return text if _GRAMMAR(text) else None


def _of_suffix(number: str, suffix: str) -> str:
    """The quantity with the suffix corrected: 64MiB means 64Mi, and 64MB means 64M. A single letter is not certain."""
    stem = re.sub(r"(b|bytes?)$", "", suffix.lower())
    return number + ("k" if stem == "k" else stem[:1].upper() + stem[1:])


def _cure(text: str, addition: str = "") -> str:
    """`, write <text>` if the text is a quantity, else the form of quantities."""
    return f", write {text}{addition}" if _GRAMMAR(text) else f", {_FORM}"


def _in_ascii(text: str) -> str:
    return "".join("u" if c in "µμ" else str(int(c)) if c.isdecimal() else c for c in text)


def _wrong_type(value: object) -> str:
    if isinstance(value, float | Decimal) and isfinite(value):
        return f'the fractional number {value} is not a valid quantity: write it as a string, "{value}"'
    names = {bool: str(value).lower(), type(None): "null", dict: "a mapping", list: "a list", float: str(value)}
    return f"{names.get(type(value), type(value).__name__)} is not a valid quantity: write a string or an integer"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
