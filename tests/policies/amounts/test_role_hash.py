"""The role hash of a Pod, as in Kueue; the JSON that Go writes for the shape is spelled out here."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from policies.amounts.role_hash import role_hash

NOTHING = {
    "affinity": "null",
    "containers": "null",
    "initContainers": "null",
    "nodeSelector": "null",
    "overhead": "null",
    "priority": "null",
    "resourceClaims": "null",
    "runtimeClassName": "null",
    "tolerations": "null",
    "topologySpreadConstraints": "null",
}


def written(**shape: str) -> str:
    """The hash of these parts, as Go writes them; the others are null."""
    parts = ",".join(f'"{key}":{text}' for key, text in sorted({**NOTHING, **shape}.items()))
    return sha256(f'{{"spec":{{{parts}}}}}'.encode()).hexdigest()[:8]


def test_role_hash_equals_the_hash_of_kueue() -> None:
    """The hashes are those of the test Pods of Kueue v0.19."""
    container: dict[str, Any] = {"name": "c", "image": "pause", "resources": {"requests": {}, "limits": {}}}

    assert role_hash({"containers": [container]}) == "a9f06f3a"
    assert role_hash({"containers": [{**container, "resources": {"requests": {"cpu": "1"}}}]}) == "dc85db45"


def test_empty_spec_is_hashed_with_null_fields() -> None:
    assert role_hash({}) == written()
    assert role_hash({"containers": [], "initContainers": []}) == written()


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ({"priority": 0}, {"priority": "0"}),
        ({"runtimeClassName": "gvisor"}, {"runtimeClassName": '"gvisor"'}),
        ({"nodeSelector": {"b": "2", "a": "<&>"}}, {"nodeSelector": r'{"a":"\u003c\u0026\u003e","b":"2"}'}),
        ({"nodeSelector": {"a": "größe"}}, {"nodeSelector": '{"a":"größe"}'}),
        ({"overhead": {"memory": "1024Mi", "cpu": "1000m"}}, {"overhead": '{"cpu":"1","memory":"1Gi"}'}),
        (
            {"tolerations": [{"tolerationSeconds": 0, "effect": "NoExecute", "operator": "Exists", "key": "a"}]},
            {"tolerations": '[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":0}]'},
        ),
        ({"tolerations": []}, {"tolerations": "[]"}),
        (
            {"resourceClaims": [{"resourceClaimTemplateName": "t", "name": "gpu"}]},
            {"resourceClaims": '[{"name":"gpu","resourceClaimTemplateName":"t"}]'},
        ),
        (
            {"initContainers": [{"ports": [{"protocol": "TCP", "containerPort": 80, "name": "http"}]}]},
            {
                "initContainers": '[{"ports":[{"name":"http","containerPort":80,"protocol":"TCP"}],'
                '"resources":{"requests":null}}]'
            },
        ),
        (
            {
                "topologySpreadConstraints": [
                    {
                        "labelSelector": {"matchLabels": {"b": "1", "a": "2"}},
                        "whenUnsatisfiable": "DoNotSchedule",
                        "topologyKey": "zone",
                        "maxSkew": 1,
                    }
                ]
            },
            {
                "topologySpreadConstraints": '[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",'
                '"labelSelector":{"matchLabels":{"a":"2","b":"1"}}}]'
            },
        ),
    ],
)
def test_fields_come_in_the_order_of_kubernetes_types(spec: dict[str, Any], shape: dict[str, str]) -> None:
    assert role_hash(spec) == written(**shape)


def test_role_hash_includes_all_affinity_terms() -> None:
    term = {"topologyKey": "host", "namespaces": [], "labelSelector": {}}
    wanted = {"values": ["x"], "operator": "In", "key": "zone"}
    spec = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": term, "weight": 5}],
        },
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"preference": {"matchFields": [wanted], "matchExpressions": [wanted]}, "weight": 1}
            ],
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]},
        },
    }
    requirement, there = '{"key":"zone","operator":"In","values":["x"]}', '{"labelSelector":{},"topologyKey":"host"}'
    nodes = (
        f'{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchExpressions":[{requirement}]}}]}},'
        f'"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":1,"preference":'
        f'{{"matchExpressions":[{requirement}],"matchFields":[{requirement}]}}}}]}}'
    )
    near = f'{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":5,"podAffinityTerm":{there}}}]}}'
    apart = f'{{"requiredDuringSchedulingIgnoredDuringExecution":[{there}]}}'

    expected = written(affinity=f'{{"nodeAffinity":{nodes},"podAffinity":{near},"podAntiAffinity":{apart}}}')

    assert role_hash({"affinity": spec}) == expected


def test_role_hash_includes_only_requests_of_pod_level_resources() -> None:
    both = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}}

    assert role_hash(both) == written(resources='{"cpu":"2"}')
    assert role_hash({"resources": {"limits": {"cpu": "3"}}}) == written(resources="null")
    assert role_hash({"containers": [{"name": "c"}], **both}) == "388e0b9c"


def test_images_names_limits_and_volumes_do_not_count() -> None:
    plain = {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    named = {"name": "c", "image": "a", "env": [{"name": "A"}]}
    other = {
        "containers": [{**named, "resources": {"requests": {"cpu": "1000m"}, "limits": {"cpu": "2"}}}],
        "volumes": [{"name": "v"}],
        "schedulingGates": [{"name": "g"}],
        "priorityClassName": "high",
    }

    assert role_hash(plain) == role_hash(other)
