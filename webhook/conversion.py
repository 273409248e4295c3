"""Answers ConversionReviews: converts Kueue's objects to the requested version."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies.conversion import Unconvertible, convert
from policies.dialects.kueue_kinds import GROUP
from policies.dialects.reading import Manifest, mapping, text
from policies.model.printing import plain
from webhook.review import BadReview

API_VERSION = "apiextensions.k8s.io/v1"
KIND = "ConversionReview"
_TOKENS = 1_000_000
"""The most opening brackets and commas of a body. Each takes up to 240 bytes of memory when the body is parsed."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A request to convert these objects of Kueue's group to the version `to`."""

    uid: str
    to: str
    objects: tuple[Manifest, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """The answer: all objects in the order of the request, or a `failure` that names the first object that cannot be
    converted."""

    uid: str
    objects: tuple[Manifest, ...] = ()
    failure: str = ""

    def body(self) -> bytes:
        response: dict[str, Any]
        if self.failure:
            response = {"uid": self.uid, "result": {"status": "Failure", "message": self.failure}}
        else:
            response = {"uid": self.uid, "result": {"status": "Success"}, "convertedObjects": self.objects}
        review = {"apiVersion": API_VERSION, "kind": KIND, "response": response}
        return json.dumps(review, separators=(",", ":"), allow_nan=False).encode()


def parse(body: bytes) -> Conversion:
    """Read the request of a ConversionReview. Raises BadReview."""
    if sum(map(body.count, (b"{", b"[", b","))) > _TOKENS:
        raise BadReview(f"the body has more than {_TOKENS} entries; ask for fewer objects at a time")
    review = _load(body)
    got = (review.get("apiVersion"), review.get("kind"))
    if got != (API_VERSION, KIND):
        raise BadReview(
            f"expected apiVersion {API_VERSION} and kind {KIND}, got {got[0]!r} and {got[1]!r};"
            " set conversionReviewVersions: [v1] in the CustomResourceDefinition"
        )
    request = mapping(review.get("request"))
    uid, wanted, objects = text(request.get("uid")), text(request.get("desiredAPIVersion")), request.get("objects")
    if not uid or not wanted:
        raise BadReview("request.uid and request.desiredAPIVersion must be non-empty strings")
    if not isinstance(objects, list) or not all(isinstance(each, Mapping) for each in objects):
        raise BadReview("request.objects must be a list of objects")
    group, _, version = wanted.rpartition("/")
    if group != GROUP:
        raise BadReview(f"request.desiredAPIVersion is {wanted!r}; only objects of {GROUP} can be converted")
    return Conversion(uid, version, tuple(objects))


def perform(request: Conversion) -> Converted:
    converted = []
    for manifest in request.objects:
        try:
            converted.append(convert(manifest, request.to))
        except Unconvertible as error:
            return Converted(request.uid, failure=plain(f"{_named(manifest)}: {error}"))
    return Converted(request.uid, tuple(converted))


def _named(manifest: Manifest) -> str:
    metadata = mapping(manifest.get("metadata"))
    names = [name for key in ("namespace", "name") if (name := text(metadata.get(key)))]
    return f"{manifest.get('kind')} {'/'.join(names)}"


def _load(body: bytes) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(body.decode(), parse_float=_finite, parse_constant=_finite))
    except RecursionError:
        raise BadReview("the body is nested too deeply") from None
    except ValueError as error:
        raise BadReview(f"the body is not JSON: {error}") from None


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"the number {literal[:40]} is too large")
    return number
