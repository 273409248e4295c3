from __future__ import annotations

from typing import Any

from policies.judging.rule import Proposal
from tests import builders
from tests.builders import change, found, world

RULE = "application-in-two-namespaces"
APP_ID = "yunikorn.apache.org/app-id"


def pod(name: str, namespace: str, **meta: Any) -> dict[str, Any]:
    made = builders.pod(name, namespace=namespace, **meta)
    return {**made, "spec": {**made["spec"], "schedulerName": "yunikorn"}}


def causes(proposal: Proposal) -> list[list[str]]:
    return [[f"{cause.object} {cause.field}" for cause in finding.causes] for finding in found(RULE, proposal)]


def test_the_cause_is_the_field_that_has_the_id_of_the_other_pod() -> None:
    known = world(pod("p", "dev", annotations={APP_ID: "etl"}))

    (named,) = causes(change(known, pod("q", "prod", labels={APP_ID: "etl"})))

    assert named == [f"Pod dev/p metadata.annotations[{APP_ID}]"]


def test_the_pod_of_another_namespace_is_found_among_many_of_the_own() -> None:
    own = [pod(f"q{number}", "prod", labels={APP_ID: "etl"}) for number in range(300)]
    known = world(pod("p", "dev", labels={APP_ID: "etl"}), *own)

    assert causes(change(known, pod("q", "prod", labels={APP_ID: "etl"}))) == [[f"Pod dev/p metadata.labels[{APP_ID}]"]]
