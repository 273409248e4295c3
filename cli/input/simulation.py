"""What `simulate` and `why` play: objects out of files, as a cluster would have taken them in."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cli.exits import Misused
from cli.input.context import DECLARED, Against, Context
from cli.input.documents import Document, Place, Unreadable, read
from cli.input.given import Given, Placed, gather
from cli.input.settings import settings
from cli.input.stored import as_stored
from policies.configuration.settings import Configuration
from policies.dialects.reading import Manifest
from policies.model.errors import PolicyError
from policies.model.forest import Forest
from policies.model.rule import Profile
from policies.schema.structure import Defect
from scheduling.simulation.intake import has_no_schema, is_played
from scheduling.simulation.settings import GROUP, KIND, Settings, read_settings
from scheduling.simulation.shape import faults

_ELSEWHERE = ("metadata.annotations",)
"""Where defects lie that are none to Kueue."""


@dataclass(slots=True)
class World:
    """All that was given so far. `others` counts objects of kinds that a simulation does not go by."""

    configuration: Configuration
    forest: Forest
    unreadable: list[Unreadable]
    others: int = 0

    def take(self, paths: Sequence[str]) -> list[Manifest]:
        """The manifests of these files, as they would be stored, without those that no API server would take."""
        given = gather(paths)
        self.unreadable += given.unreadable
        played = {ref: placed for ref, placed in given.objects.items() if is_played(placed.document.manifest)}
        rest = [document for document in given.rest if is_played(document.manifest)]
        self.others += len(given.objects) - len(played) + len(given.rest) - len(rest)
        rest = [document for document in rest if not self._is_misshapen(document)]
        sound = {ref: placed for ref, placed in played.items() if not self._refused(placed)}
        stored = as_stored(Given(sound, (), 0), self._context(), self.configuration)
        self.forest = self.forest.put_all(placed.thing for placed in stored.objects.values())
        return [*(_named(placed) for placed in stored.objects.values()), *(document.manifest for document in rest)]

    def _context(self) -> Context:
        return Context(Against(), self.forest)

    def _refused(self, placed: Placed) -> bool:
        """Whether an API server would refuse it, which is told then."""
        defects = [defect for defect in placed.thing.defects if _counts(defect)]
        if not defects and has_no_schema(placed.document.manifest):
            return self._is_misshapen(placed.document, str(placed.thing.ref))
        self._tell(placed.document, str(placed.thing.ref), defects)
        return bool(defects)

    def _is_misshapen(self, document: Document, name: str = "") -> bool:
        defects = list(faults(document.manifest))
        self._tell(document, name or str(document.manifest.get("kind")), defects)
        return bool(defects)

    def _tell(self, document: Document, name: str, defects: Iterable[Defect]) -> None:
        for defect in defects:
            where = f"{defect.field}: " if defect.field else ""
            message = f"{name} is left out, since no API server takes it: {where}{defect.message}"
            self.unreadable.append(Unreadable(document.place(defect.field), message))


def world(config: str | None, paths: Sequence[str], profile: str | None) -> World:
    """A world without anything in it. Raises Misused."""
    return World(settings(config, paths, profile), Forest(frozenset(DECLARED)), [])


def engine_settings(file: str | None, configuration: Configuration, *, fair_sharing: bool) -> Settings:
    """Out of Kueue's Configuration in the file, and what Quotree's says of Kueue. Raises Misused, naming the key."""
    document = _kueue_configuration(file) if file else None
    manifest: Manifest = document.manifest if document else {}
    compat = configuration.profile is Profile.COMPAT
    try:
        found = read_settings(manifest, configuration.kueue.feature_gates, compat=compat)
    except PolicyError as error:
        assert document is not None
        raise Misused(f"{document.place(getattr(error, 'at', ''))}: {error}") from error
    return replace(found, options=replace(found.options, fair_sharing=True)) if fair_sharing else found


def _kueue_configuration(file: str) -> Document:
    if not Path(file).is_file():
        raise Misused(f"{file}: no such file")
    documents, unreadable = read([file], io.BytesIO())
    for failure in unreadable:
        raise Misused(f"{failure.place}: {failure.message}")
    found = [document for document in documents if _is_kueues(document.manifest)]
    if len(found) != 1:
        raise Misused(f"{file}: give one {KIND} of {GROUP}, as Kueue's manager reads it; here are {len(found)}")
    return found[0]


def _is_kueues(manifest: Manifest) -> bool:
    return manifest.get("kind") == KIND and str(manifest.get("apiVersion")).startswith(f"{GROUP}/")


def _counts(defect: Defect) -> bool:
    return not defect.warning and not defect.field.startswith(_ELSEWHERE)


def _named(placed: Placed) -> Manifest:
    """With a name and a namespace, where the API server would give them."""
    manifest, ref = placed.document.manifest, placed.thing.ref
    metadata = manifest.get("metadata") or {}
    own = {"name": ref.name.replace("*", ""), **({"namespace": ref.namespace} if ref.namespace else {})}
    same = all(metadata.get(key) == value for key, value in own.items())
    return manifest if same else {**manifest, "metadata": {**metadata, **own}}


def unreadable_lines(found: Iterable[Unreadable]) -> Iterator[str]:
    for item in found:
        yield f"{item.place}: unreadable: {item.message}"


def place_json(place: Place) -> dict[str, object]:
    return {"file": place.file, "line": place.line, "column": place.column}
