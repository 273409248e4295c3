"""Which bodies are AdmissionReviews, and what is read from them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.dialects import volcano
from policies.model.change import ChangeOperation, User
from tests.builders import job, queue, typed
from tests.profiles import each_case
from tests.webhook.random_manifests import json_values, manifests
from tests.webhook.reviews import body, review
from webhook.review import BadReview, parse


def refused(data: bytes) -> str:
    with pytest.raises(BadReview) as caught:
        parse(data)
    return str(caught.value)


def test_a_create_has_all_fields_of_the_request() -> None:
    new = job("train", "ml", "team")

    parsed = parse(body(review(new, subResource="status", dryRun=True, options={"fieldManager": "x"})))

    assert parsed.uid == "705ab4f5-6393-11e8-b7cc-42010a800002"
    assert parsed.operation is ChangeOperation.CREATE
    assert parsed.kind == volcano.JOB
    assert (parsed.namespace, parsed.name, parsed.subresource) == ("team", "train", "status")
    assert parsed.dry_run
    assert parsed.user == User("ada", ("system:authenticated",))
    assert (parsed.object, parsed.old_object) == (new, None)


def test_a_delete_uses_the_old_object() -> None:
    old = queue("ml")

    parsed = parse(body(review(old=old, options={"propagationPolicy": "Orphan"})))

    assert (parsed.object, parsed.old_object, parsed.manifest) == (None, old, old)
    change = parsed.change()
    assert change is not None
    assert (change.before, change.after) == (typed(old), None)


def test_a_deletion_of_a_collection_takes_the_name_from_the_old_object() -> None:
    change = parse(body(review(old=queue("ml"), name=""))).change()

    assert change is not None
    assert change.ref == volcano.queue_ref("ml")


def test_the_old_object_of_a_create_and_the_new_one_of_a_delete_are_ignored() -> None:
    created = parse(body(review(queue("a"), queue("b"), operation="CREATE")))
    deleted = parse(body(review(queue("a"), queue("b"), operation="DELETE")))

    assert created.old_object is None
    assert deleted.object is None


def test_an_object_without_a_namespace_is_in_that_of_the_request() -> None:
    new = job("train", "ml")
    del new["metadata"]["namespace"]

    parsed = parse(body(review(new, namespace="team")))

    assert parsed.object is not None
    assert parsed.object["metadata"] == {"name": "train", "namespace": "team"}


def test_a_namespace_object_does_not_get_the_namespace_of_the_request() -> None:
    new = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}

    assert parse(body(review(new, namespace="team"))).object == new


def test_a_kind_without_quota_has_no_change() -> None:
    assert parse(body(review({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}))).change() is None


def test_fractions_are_read_exactly() -> None:
    data = body(review(queue("a"))).replace(b'"name": "a"', b'"name": "a", "x": 0.1')

    parsed = parse(data)

    assert parsed.object is not None
    assert parsed.object["metadata"]["x"] == Decimal("0.1")


@pytest.mark.parametrize(
    ("data", "reported"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "expected apiVersion admission.k8s.io/v1 and kind AdmissionReview, got None"),
        (b'"text"', "expected apiVersion"),
        (b"\xff\xfe{}", "not JSON"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": 1, "a": 2}', "the duplicate key 'a'"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": 1e99999999999999999999}', "too large"),
        (b'{"a": ' + b"1" * 5000 + b"}", "not JSON"),
    ],
)
def test_an_invalid_review_is_rejected_with_a_message(data: bytes, reported: str) -> None:
    assert reported in refused(data)


@pytest.mark.parametrize("version", ["admission.k8s.io/v1beta1", "v1", None])
def test_only_admission_review_v1_is_accepted(version: str | None) -> None:
    assert "admissionReviewVersions: [v1]" in refused(body({**review(queue("a")), "apiVersion": version}))


@each_case(
    ("change", "reported"),
    [
        ({"operation": "CONNECT"}, "request.operation is 'CONNECT'; it must be one of CREATE, UPDATE, DELETE"),
        ({"operation": None}, "request.operation is ''"),
        ({"operation": ["CREATE"]}, "request.operation must be a string, it is a list"),
        ({"object": None}, "request.object must be an object, it is missing"),
        ({"object": {}}, "request.object is empty"),
        ({"object": {"spec": {}}}, "request.object has no apiVersion and kind"),
        ({"operation": "UPDATE"}, "request.oldObject must be an object, it is missing"),
        ({"operation": "DELETE"}, "request.oldObject must be an object, it is missing"),
        ({"object": "text"}, "request.object must be an object, it is a string"),
        ({"uid": 7}, "request.uid must be a string, it is a number"),
        ({"userInfo": []}, "request.userInfo must be an object, it is a list"),
        ({"userInfo": {"username": {}}}, "request.userInfo.username must be a string, it is an object"),
    ],
)
def test_an_invalid_request_is_rejected_with_a_message(change: dict[str, Any], reported: str) -> None:
    assert reported in refused(body(review(queue("a"), **change)))


def test_a_review_without_a_request_is_refused() -> None:
    assert "request must be an object" in refused(
        body({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})
    )


@given(st.binary() | json_values.map(body))
def test_random_bytes_are_rejected(data: bytes) -> None:
    assert refused(data)


@given(manifests, st.none() | manifests)
def test_the_change_of_any_objects_can_be_read(new: dict[str, Any], old: dict[str, Any] | None) -> None:
    operation = "UPDATE" if old else "CREATE"

    change = parse(body(review(object=new, oldObject=old, operation=operation, name="x", namespace="ns"))).change()

    assert change is not None
    assert change.after is not None
    assert change.after.ref.kind == new["kind"]
