"""A fault of a single manifest, whatever else exists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """One fault of a manifest.

    `field` is the path as the user wrote it. `quantity` says that the value should be a quantity and is not.
    `warning` says that the API server accepts the manifest all the same and drops what is at `field`; `unknown` that
    this version does not have the field, so that kubectl refuses it.
    `newer` says that a newer version may have it.
    Where the cure is certain, `write` is what to write there, `rename` the name that the field has, and `remove` says
    that the field is to go.
    `meant` is the path of the known field that is nearest to an unknown one.
    """

    field: str
    message: str
    quantity: bool = False
    warning: bool = False
    unknown: bool = False
    newer: bool = False
    write: str | int | None = None
    rename: str = ""
    remove: bool = False
    meant: str = ""
