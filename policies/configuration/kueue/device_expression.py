"""Whether an expression that selects devices can be one: its form, its names, and that it says yes or no.

A CEL expression about `device`. Not a whole CEL: types are followed no further than they stand there in plain sight.
Source: Kubernetes, dynamic resource allocation, device selectors; the CEL language definition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|(?P<text>[rRbB]{0,2}(?:'''(?:.|\n)*?'''|\"\"\"(?:.|\n)*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+(?:[eE][-+]?[0-9]+|[uU])?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>&&|\|\||==|!=|<=|>=|\.\?|\[\?|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE,
)
_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
_FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_TYPES = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp")
)
_MACROS = frozenset(
    ("all", "exists", "exists_one", "existsOne", "filter", "map", "transformList", "transformMap", "bind")
)
_LONGEST, _DEEPEST = 10 * 1024, 30
BOOLEAN, OTHER, OPEN = "bool", "other", "open"


class _Wrong(Exception):
    """What cannot be read, in words."""


def fault_of(expression: str) -> str:
    """What is wrong with it; nothing where nothing is found."""
    if len(expression) > _LONGEST:
        return f"longer than {_LONGEST} characters; shorten it"
    try:
        reader = _Reader(_tokens(expression))
        kind = reader.expression()
        if reader.here != ("end", ""):
            raise _Wrong(f"{reader.here[1]!r} does not belong there")
    except _Wrong as wrong:
        return f"not a valid device expression: {wrong}"
    return "" if kind != OTHER else "the expression must evaluate to true or false"


def _tokens(expression: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if match is None:
            raise _Wrong(f"{expression[at]!r} at character {at + 1} cannot be read")
        if match.lastgroup is not None:
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return [*found, ("end", "")]


@dataclass
class _Reader:
    """Reads by descent; each method returns what kind of value it read."""

    tokens: list[tuple[str, str]]
    at: int = 0
    depth: int = 0
    bound: list[str] = field(default_factory=list)

    @property
    def here(self) -> tuple[str, str]:
        return self.tokens[self.at]

    def take(self, *signs: str) -> str:
        """The next token if it is one of these, else nothing."""
        sort, text = self.here
        if sort in ("sign", "name") and text in signs:
            self.at += 1
            return text
        return ""

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise _Wrong(f"{sign!r} is missing before {self.here[1] or 'the end'!r}")

    def expression(self) -> str:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Wrong("it is nested too deeply")
        kind = self.level(0)
        if self.take("?"):
            first = self.level(0)
            self.need(":")
            second = self.expression()
            kind = first if first == second else OPEN
        self.depth -= 1
        return kind

    def level(self, level: int) -> str:
        if level == len(_LEVELS):
            return self.unary()
        kind = self.level(level + 1)
        while self.take(*_LEVELS[level]):
            self.level(level + 1)
            kind = BOOLEAN if level <= 2 else OTHER
        return kind

    def unary(self) -> str:
        sign = self.take("!", "-")
        while sign and self.take(sign):
            pass
        kind = self.member()
        return {"!": BOOLEAN, "-": OTHER}.get(sign, kind)

    def member(self) -> str:
        of_device = self.here == ("name", "device")
        kind = self.primary()
        while sign := self.take(".", ".?", "[", "[?"):
            if sign.startswith("["):
                kind = OPEN
                self.expression()
                self.need("]")
                of_device = False
                continue
            sort, name = self.here
            if sort != "name":
                raise _Wrong(f"a name is missing after {sign!r}")
            self.at += 1
            if of_device and name not in _FIELDS:
                raise _Wrong(f"a device has no field {name}; its fields are {', '.join(_FIELDS)}")
            kind = OTHER if of_device and name in _FIELDS[:3] else OPEN
            of_device = False
            if self.take("("):
                self.arguments(name)
        return kind

    def arguments(self, function: str) -> None:
        """Up to the closing bracket. A macro's first argument names what its others speak of."""
        named = []
        while function in _MACROS and self.here[0] == "name" and self.tokens[self.at + 1] == ("sign", ","):
            named.append(self.here[1])
            self.at += 2
        self.bound += named
        self.several(")")
        del self.bound[len(self.bound) - len(named) :]

    def several(self, end: str) -> None:
        while not self.take(end):
            self.take("?")
            self.expression()
            if end == "}":
                self.need(":")
                self.expression()
            if not self.take(","):
                self.need(end)
                return

    def primary(self) -> str:
        sort, text = self.here
        self.at += 1
        if sort in ("text", "number"):
            return OTHER
        if sort == "name":
            return self.named(text)
        closing = {"(": ")", "[": "]", "{": "}"}.get(text)
        if sort != "sign" or closing is None:
            raise _Wrong(f"{text or 'more'!r} " + ("does not belong there" if text else "is missing at the end"))
        if text == "(":
            kind = self.expression()
            self.need(")")
            return kind
        self.several(closing)
        return OTHER

    def named(self, name: str) -> str:
        if name in ("true", "false"):
            return BOOLEAN
        if name == "null":
            return OTHER
        if self.take("("):
            self.arguments(name)
            return OPEN
        known = name == "device" or name in self.bound or name in _TYPES
        if not known and not (name == "cel" and self.here == ("sign", ".")):
            raise _Wrong(f"{name} is unknown; the only variable is device")
        return OPEN
