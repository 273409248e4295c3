"""A fault of a single manifest, independent of other objects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """One fault of a manifest.

    `field`: the path in the version of the manifest.
    `quantity`: whether the value should be a quantity, but is not.
    `warning`: whether the API server accepts the manifest, but drops the field.
    `unknown`: whether the version of the manifest does not have the field, so that kubectl refuses it.
    `newer`: whether a newer version may have the field.
    `write`, `rename`, `remove`: the certain fix: the right value, the right name, or the removal of the field.
    `meant`: the path of the most similar known field, for an unknown one.
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
