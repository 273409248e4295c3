"""A rule about one object in Kubernetes' own expression language, for the time when the webhook is down.

An expression is one ValidatingAdmissionPolicy. Its text `wrong` yields what is wrong, or nothing. An update that makes
nothing worse passes, as with the webhook: what is wrong in `oldObject` to no lesser degree is left out. A value
that is not an amount counts as absent, as in the dialects; `bad-quantity` reports it.

Written for Kubernetes 1.30 and later: quantities, optional fields and list functions, but no two-variable loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from policies.model.objects import GroupKind

Variables: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """A rule for some of its kinds. `wrong` may use `variables`, in their order."""

    kinds: tuple[GroupKind, ...]
    wrong: str
    variables: Variables = ()


def quantity(value: str) -> str:
    return f"quantity(string({value}))"


def amount(value: str) -> str:
    """It is a quantity of 0 or more."""
    return f"(isQuantity(string({value})) && !{quantity(value)}.isLessThan(quantity('0')))"


def joined(*texts: str) -> str:
    """A CEL expression that joins the texts that are not empty."""
    return joined_list(f"[{', '.join(texts)}]")


def joined_list(texts: str) -> str:
    return f"{texts}.filter(text, text != '').join('; ')"


def of_spec(name: str, *path: str) -> Variables:
    """A mapping below spec, and `old_<name>`, the same of the object before; empty where it is absent."""
    steps = "".join(f".?{step}" for step in ("spec", *path))
    return (
        (name, f"object{steps}.orValue({{}})"),
        (f"old_{name}", f"oldObject == null ? {{}} : oldObject{steps}.orValue({{}})"),
    )


def list_of_spec(name: str, *path: str) -> Variables:
    return tuple((key, expression.replace("{}", "[]")) for key, expression in of_spec(name, *path))
