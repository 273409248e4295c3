"""AdmissionReviews in few words, and an app to post them to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flask.testing import FlaskClient

from cluster.store import FixedCache
from policies.model.forest import Forest
from webhook.app import create_app
from webhook.metrics import WebhookMetrics
from webhook.settings import WebhookSettings

Manifest = Mapping[str, Any]

KUEUE, VOLCANO, YUNIKORN = (f"/v1/validate/{name}" for name in ("kueue", "volcano", "yunikorn"))
MUTATE_VOLCANO, MUTATE_YUNIKORN = "/v1/mutate/volcano", "/v1/mutate/yunikorn"


def review(new: Manifest | None = None, old: Manifest | None = None, **request: Any) -> dict[str, Any]:
    """What an API server sends: a CREATE of `new`, an UPDATE of `old` to `new`, or a DELETE of `old`."""
    operation = "DELETE" if new is None else "UPDATE" if old is not None else "CREATE"
    metadata = (new or old or {}).get("metadata", {})
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "operation": operation,
            "name": metadata.get("name", ""),
            "namespace": metadata.get("namespace", ""),
            "userInfo": {"username": "ada", "groups": ["system:authenticated"]},
            "object": new,
            "oldObject": old,
            "dryRun": False,
            **request,
        },
    }


def body(review: object) -> bytes:
    return json.dumps(review).encode()


def client(
    forest: Forest, settings: WebhookSettings | None = None, metrics: WebhookMetrics | None = None
) -> FlaskClient:
    world = FixedCache(forest)
    return create_app(settings or WebhookSettings(), lambda: world, metrics=metrics).test_client()


def answer(client: FlaskClient, path: str, review: object) -> dict[str, Any]:
    """The `response` of the AdmissionReview that comes back."""
    reply = client.post(path, data=body(review), content_type="application/json")
    assert (reply.status_code, reply.mimetype) == (200, "application/json"), reply.text
    envelope = json.loads(reply.data)
    assert (envelope["apiVersion"], envelope["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = envelope["response"]
    return response
