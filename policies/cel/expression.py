"""The CEL form of a rule about one object, which counts while the webhook is down.

An expression becomes one ValidatingAdmissionPolicy. Its CEL `wrong` returns the message, or an empty string. As in the
webhook, an update passes if it makes nothing worse: violations that `oldObject` has with at least the same size are
left out. As in the dialects, a value that is not a quantity counts as absent; `bad-quantity` reports it.

Expressions must work in Kubernetes 1.30, which has quantities, optional fields and list functions, but no loops with
two variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from policies.model.objects import GroupKind

Variables: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """The CEL form of a rule for some of its kinds. `wrong` may use `variables`, which are evaluated in their order."""

    kinds: tuple[GroupKind, ...]
    wrong: str
    variables: Variables = ()


def quantity(value: str) -> str:
    return f"quantity(string({value}))"


def amount(value: str) -> str:
    """A CEL condition: the value is a quantity of 0 or more."""
    return f"(isQuantity(string({value})) && !{quantity(value)}.isLessThan(quantity('0')))"


def joined(*texts: str) -> str:
    """A CEL expression that joins the texts that are not empty."""
    return joined_list(f"[{', '.join(texts)}]")


def joined_list(texts: str) -> str:
    return f"{texts}.filter(text, text != '').join('; ')"


def of_spec(name: str, *path: str) -> Variables:
    """Variables for a mapping in spec: `<name>` of the object and `old_<name>` of the old one; empty if absent."""
    steps = "".join(f".?{step}" for step in ("spec", *path))
    return (
        (name, f"object{steps}.orValue({{}})"),
        (f"old_{name}", f"oldObject == null ? {{}} : oldObject{steps}.orValue({{}})"),
    )


def list_of_spec(name: str, *path: str) -> Variables:
    return tuple((key, expression.replace("{}", "[]")) for key, expression in of_spec(name, *path))
