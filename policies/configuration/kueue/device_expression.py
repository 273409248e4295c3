"""Checks the CEL expression that selects devices: its syntax, its names, and that its value is a boolean.

This is a parser of CEL, but not a type checker. It knows the type of literals, operators and the fields of `device`.
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
_OPERATORS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
"""The binary operators by precedence, the lowest first."""
_DEVICE_FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_TYPES = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp")
)
_MACROS = frozenset(
    ("all", "exists", "exists_one", "existsOne", "filter", "map", "transformList", "transformMap", "bind")
)
_LONGEST, _DEEPEST = 10 * 1024, 30
"""The most characters, and the most levels of nesting, of an expression."""
_BOOLEAN, _NOT_BOOLEAN, _UNKNOWN = "bool", "other", "unknown"
"""What is known about the type of a value: a boolean, another type, or nothing."""


class _InvalidExpression(Exception):
    """The expression is not valid; the message says why."""


def expression_fault(expression: str) -> str:
    """The fault of the expression; empty if none is found."""
    if len(expression) > _LONGEST:
        return f"longer than {_LONGEST} characters; shorten it"
    try:
        parser = _Parser(_tokens(expression))
        kind = parser.expression()
        if parser.current != ("end", ""):
            raise _InvalidExpression(f"{parser.current[1]!r} does not belong there")
    except _InvalidExpression as error:
        return f"not a valid device expression: {error}"
    return "" if kind != _NOT_BOOLEAN else "the expression must evaluate to true or false"


def _tokens(expression: str) -> list[tuple[str, str]]:
    """The tokens, each as (category, text)."""
    found, at = [], 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if match is None:
            raise _InvalidExpression(f"{expression[at]!r} at character {at + 1} cannot be read")
        if match.lastgroup is not None:
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return [*found, ("end", "")]


@dataclass
class _Parser:
    """A recursive-descent parser. The method of each construct returns what is known about the type of its value.

    `at`: the index of the current token.
    `variables`: the variables of the macros around the current token.
    """

    tokens: list[tuple[str, str]]
    at: int = 0
    depth: int = 0
    variables: list[str] = field(default_factory=list)

    @property
    def current(self) -> tuple[str, str]:
        return self.tokens[self.at]

    def accept(self, *signs: str) -> str:
        """Consume the current token if it is one of these. Returns its text, else an empty one."""
        category, text = self.current
        if category in ("sign", "name") and text in signs:
            self.at += 1
            return text
        return ""

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise _InvalidExpression(f"{sign!r} is missing before {self.current[1] or 'the end'!r}")

    def expression(self) -> str:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _InvalidExpression("it is nested too deeply")
        kind = self.operation(0)
        if self.accept("?"):
            first = self.operation(0)
            self.expect(":")
            second = self.expression()
            kind = first if first == second else _UNKNOWN
        self.depth -= 1
        return kind

    def operation(self, level: int) -> str:
        """Binary operations with the operators of this level of precedence, or a higher one."""
        if level == len(_OPERATORS):
            return self.unary()
        kind = self.operation(level + 1)
        while self.accept(*_OPERATORS[level]):
            self.operation(level + 1)
            kind = _BOOLEAN if level <= 2 else _NOT_BOOLEAN  # logic and comparisons, else arithmetic
        return kind

    def unary(self) -> str:
        sign = self.accept("!", "-")
        while sign and self.accept(sign):
            pass
        kind = self.member()
        return {"!": _BOOLEAN, "-": _NOT_BOOLEAN}.get(sign, kind)

    def member(self) -> str:
        """A primary with any field selections, indexes and method calls."""
        of_device = self.current == ("name", "device")
        kind = self.primary()
        while sign := self.accept(".", ".?", "[", "[?"):
            if sign.startswith("["):
                kind = _UNKNOWN
                self.expression()
                self.expect("]")
                of_device = False
                continue
            category, name = self.current
            if category != "name":
                raise _InvalidExpression(f"a name is missing after {sign!r}")
            self.at += 1
            if of_device and name not in _DEVICE_FIELDS:
                raise _InvalidExpression(f"a device has no field {name}; its fields are {', '.join(_DEVICE_FIELDS)}")
            kind = _NOT_BOOLEAN if of_device and name != "allowMultipleAllocations" else _UNKNOWN
            of_device = False
            if self.accept("("):
                self.arguments(name)
        return kind

    def arguments(self, function: str) -> None:
        """The arguments of a call, up to the closing bracket. The first ones of a macro may name its variables."""
        names = []
        while function in _MACROS and self.current[0] == "name" and self.tokens[self.at + 1] == ("sign", ","):
            names.append(self.current[1])
            self.at += 2
        self.variables += names
        self.items(")")
        del self.variables[len(self.variables) - len(names) :]

    def items(self, end: str) -> None:
        """A list of expressions, or of key: value, up to the closing bracket."""
        while not self.accept(end):
            self.accept("?")
            self.expression()
            if end == "}":
                self.expect(":")
                self.expression()
            if not self.accept(","):
                self.expect(end)
                return

    def primary(self) -> str:
        category, text = self.current
        self.at += 1
        if category in ("text", "number"):
            return _NOT_BOOLEAN
        if category == "name":
            return self.identifier(text)
        closing = {"(": ")", "[": "]", "{": "}"}.get(text)
        if category != "sign" or closing is None:
            raise _InvalidExpression(
                f"{text or 'more'!r} " + ("does not belong there" if text else "is missing at the end")
            )
        if text == "(":
            kind = self.expression()
            self.expect(")")
            return kind
        self.items(closing)
        return _NOT_BOOLEAN

    def identifier(self, name: str) -> str:
        if name in ("true", "false"):
            return _BOOLEAN
        if name == "null":
            return _NOT_BOOLEAN
        if self.accept("("):
            self.arguments(name)
            return _UNKNOWN
        known = name == "device" or name in self.variables or name in _TYPES
        if not known and not (name == "cel" and self.current == ("sign", ".")):
            raise _InvalidExpression(f"{name} is unknown; the only variable is device")
        return _UNKNOWN
