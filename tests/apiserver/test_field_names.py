"""The fields of Kubernetes' own kinds as the API server knows them, and what its strict decoding says of others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from generators.rule_cases import cases
from policies.dialects.reading import Parsed
from policies.dialects.strict import strict
from policies.schema.field_names import FILE, field_names
from tests.apiserver import field_names as writing
from tests.apiserver.harness import ApiError, ControlPlane
from tests.builders import typed

PATHS = {
    "v1": "/api/v1/{}",
    "apps/v1": "/apis/apps/v1/{}",
    "batch/v1": "/apis/batch/v1/{}",
    "scheduling.k8s.io/v1": "/apis/scheduling.k8s.io/v1/{}",
}
CLUSTER_SCOPED = ("Namespace", "PriorityClass")
OBJECTS = [each for case in cases("unknown-field") for each in case["apply"] if field_names().type_of(each)]


def test_the_names_are_those_of_the_api_server(control_plane: ControlPlane) -> None:
    assert writing.generate(control_plane) == FILE.read_text(), "run `make field-names`"


@pytest.mark.parametrize("manifest", OBJECTS, ids=lambda manifest: manifest["kind"])
def test_strict_decoding_refuses_the_same_fields(control_plane: ControlPlane, manifest: dict[str, Any]) -> None:
    found = {defect.field for defect in strict(Parsed(typed(manifest), manifest)).object.defects if defect.unknown}

    refused = unknown_fields(control_plane, manifest)

    assert found == {field for field in refused if not field.startswith("status")}


def unknown_fields(control_plane: ControlPlane, manifest: dict[str, Any]) -> set[str]:
    plural = manifest["kind"].lower() + ("es" if manifest["kind"].endswith("s") else "s")
    path = PATHS[manifest["apiVersion"]].format(
        plural if manifest["kind"] in CLUSTER_SCOPED else f"namespaces/default/{plural}"
    )
    own = {**manifest, "metadata": {**manifest["metadata"], "namespace": None}}
    with pytest.raises(ApiError) as refused:
        control_plane.request("POST", f"{path}?fieldValidation=Strict&dryRun=All", own)
    return set(re.findall(r'unknown field \\"(.+?)\\"', refused.value.body))
