"""Finds unknown fields and wrong types in Kubernetes' own kinds and in pod templates, as strict decoding does.

Only manifests from files need this: in a request, the API server has already refused or dropped such a field.
A newer API server may know more fields. So an unknown field is certainly wrong only if its name is similar to a known
field that is absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.dialects import volcano
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.kueue_kinds import WORKLOAD
from policies.dialects.reading import Manifest, Parsed, listing, mapping
from policies.dialects.schemaless import faults, pod_faults
from policies.model import fields
from policies.model.objects import Defect, KubeObject
from policies.model.suggestion import did_you_mean
from policies.schema.declarations import FILES
from policies.schema.field_names import POD_TEMPLATE, Unknown, WrongType, field_names
from policies.schema.values import of_type, wrong_type

_ENTRIES = {volcano.JOB: "tasks", WORKLOAD: "podSets"}
"""The lists in the spec of a kind whose entries each have a `template`."""


def strict(found: Parsed) -> Parsed:
    """The object with a defect for each unknown field, and for each value that an API server refuses."""
    if found.manifest is None:
        return found
    known, more = {defect.field for defect in found.object.defects}, dict[str, Defect]()
    for defect in (*_defects(found.object, found.manifest), *_values(found.object, found.manifest)):
        if defect.field not in known:
            more.setdefault(defect.field, defect)
    if not more:
        return found
    return found._replace(object=replace(found.object, defects=(*found.object.defects, *more.values())))


def _values(obj: KubeObject, manifest: Manifest) -> Iterator[Defect]:
    """Defects of values. A Pod in a file may lack a name, since a program may use the file as a template."""
    if obj.ref.group_kind in FILES:
        return pod_faults(manifest)
    return (defect for defect in faults(manifest) if defect.field != "metadata.name")


def _defects(obj: KubeObject, manifest: Manifest) -> Iterator[Defect]:
    kind = obj.ref.group_kind
    if kind in FILES and kind not in _ENTRIES:  # these kinds have a schema in `policies.schema`, and no pods
        return
    names = field_names()
    type = names.type_of(manifest)
    if type is not None:
        for each in names.unknown(manifest, type):
            yield _defect(each, "", f"is unknown in Kubernetes {names.version}", "kubectl refuses it")
        yield from (_wrong(each, "") for each in names.wrong(manifest, type))
        return
    for at, template in _templates(obj, manifest):
        for each in names.unknown(template, POD_TEMPLATE):
            yield _defect(each, at, f"is unknown in a pod of Kubernetes {names.version}", "the pods do not get it")
        yield from (_wrong(each, at) for each in names.wrong(template, POD_TEMPLATE))


def _templates(obj: KubeObject, manifest: Manifest) -> Iterator[tuple[str, object]]:
    if isinstance(obj, QueuedJob):
        yield from ((pods.at, pods.template) for pods in obj.pod_sets)
    elif (entries := _ENTRIES.get(obj.ref.group_kind)) is not None:
        for index, entry in enumerate(listing(mapping(manifest.get("spec")).get(entries))):
            yield f"spec.{entries}[{index}].template", mapping(entry).get("template")


def _defect(unknown: Unknown, at: str, message: str, consequence: str) -> Defect:
    field, meant = fields.join(at, *unknown.path), fields.join(at, *unknown.meant)
    if not unknown.near:
        cure = f"write {meant} if that is meant, else remove it" if unknown.meant else "remove it"
        cure = f"{cure}, unless your cluster is newer and has it"
        rename = str(unknown.meant[-1]) if unknown.short else ""
        return Defect(field, f"{message}; {cure}", warning=True, unknown=True, newer=True, rename=rename)
    return Defect(
        field,
        f"{message}, so {consequence}; {did_you_mean([repr(each) for each in unknown.near])}",
        warning=True,
        unknown=True,
        rename=unknown.near[0] if len(unknown.near) == 1 else "",
        meant=meant,
    )


def _wrong(found: WrongType, at: str) -> Defect:
    message, meant = wrong_type(found.value, found.wanted), of_type(found.value, found.wanted)
    return Defect(fields.join(at, *found.path), message, quantity="quantity" in found.wanted, write=meant)
