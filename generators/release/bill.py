"""Writes the software bill of materials: the packages that the image installs with Quotree, in CycloneDX 1.6 JSON."""

from __future__ import annotations

import datetime
import uuid
from pathlib import Path

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from generators.locks import Pin, pins
from generators.release.commit import Commit


def of_materials(source: Path, version: str, commit: Commit) -> str:
    """The document for the lock file of the image. Raises ValueError if it does not match CycloneDX's schema."""
    licences = LicenseFactory()
    root = Component(
        name="quotree",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref="quotree",
        licenses=[licences.make_from_string("Apache-2.0")],
        purl=PackageURL("pypi", name="quotree", version=version),
    )
    locked = list(pins("runtime.txt", source))
    components = {pin.name: _component(pin, licences) for pin in locked}
    taken = datetime.datetime.fromtimestamp(commit.epoch, datetime.UTC)
    bom = Bom(
        components=components.values(),
        metadata=BomMetaData(component=root, timestamp=taken),
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"https://quotree.dev/{version}/{commit.id}"),
    )
    nodes = {"quotree": root} | components
    for name, node in nodes.items():
        bom.register_dependency(node, [components[pin.name] for pin in locked if name in pin.wanted_by])
    text = JsonV1Dot6(bom).output_as_string(indent=1) + "\n"
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(f"the SBOM is not valid: {error}")
    return text


def _component(pin: Pin, licences: LicenseFactory) -> Component:
    purl = PackageURL("pypi", name=pin.name, version=pin.version)
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(f"https://pypi.org/project/{pin.name}/{pin.version}/#files"),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=content) for content in pin.hashes],
    )
    licence = pin.licence
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        bom_ref=str(purl),
        scope=ComponentScope.OPTIONAL if pin.marker else ComponentScope.REQUIRED,
        licenses=[licences.make_from_string(licence)] if licence else [],
        purl=purl,
        external_references=[files],
    )
