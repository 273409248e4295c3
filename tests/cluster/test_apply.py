"""What each action sends; the real API server has its say in tests/apiserver."""

import base64
from typing import Any

import pytest

from cluster.actions import INSTALLED_BY, ApplySecret, SetCaBundle, SetConversionBundle
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.errors import Conflict, NotFound
from tests.cluster.fake import FakeApi, Reply, status

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/quotree"
SECRETS = "/api/v1/namespaces/quotree/secrets"


def ok(answer: Any) -> Reply:
    return lambda handler: handler.send_json(200, answer)


def test_a_secret_that_must_not_exist_is_posted(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [ok({}), status(409, "AlreadyExists")]
    action = ApplySecret("quotree", "certs", {"tls.crt": b"pem"}, None, {"app": "quotree"})

    perform(cluster, action)

    (seen,) = api.seen
    assert (seen.method, seen.path, seen.query) == ("POST", SECRETS, {"fieldManager": "quotree-certs"})
    assert seen.body["metadata"] == {"name": "certs", "namespace": "quotree", "labels": {"app": "quotree"}}
    assert seen.body["data"] == {"tls.crt": base64.b64encode(b"pem").decode()}
    with pytest.raises(Conflict):
        perform(cluster, action)


def test_a_secret_that_exists_is_applied_to_the_version_that_was_read(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [ok({})]

    perform(cluster, ApplySecret("quotree", "certs", {"tls.crt": b"pem"}, "42"))

    (seen,) = api.seen
    assert (seen.method, seen.path) == ("PATCH", f"{SECRETS}/certs")
    assert seen.query == {"fieldManager": "quotree-certs", "force": "true"}
    assert seen.body["metadata"]["resourceVersion"] == "42"
    assert "type" not in seen.body  # immutable: that of the Secret stays


def test_a_secret_does_not_show_in_a_log() -> None:
    assert "private" not in repr(ApplySecret("quotree", "certs", {"tls.key": b"private"}, None))


@pytest.mark.parametrize(("chosen", "written"), [(None, ["a", "b"]), (("b", "unknown"), ["b"])])
def test_only_the_ca_bundle_of_webhooks_that_exist_is_written(
    api: FakeApi, cluster: ClusterClient, chosen: tuple[str, ...] | None, written: list[str]
) -> None:
    api.others += [ok({"webhooks": [{"name": "a", "sideEffects": "None"}, {"name": "b"}]}), ok({})]

    perform(cluster, SetCaBundle("ValidatingWebhookConfiguration", "quotree", b"pem", chosen))

    read, write = api.seen
    assert [(read.method, read.path), (write.method, write.path)] == [("GET", HOOKS), ("PATCH", HOOKS)]
    bundle = {"clientConfig": {"caBundle": base64.b64encode(b"pem").decode()}}
    assert write.body["webhooks"] == [{"name": name, **bundle} for name in written]
    assert write.query == {"fieldManager": "quotree-certs", "force": "true"}


def test_a_webhook_configuration_that_does_not_exist_is_not_made(api: FakeApi, cluster: ClusterClient) -> None:
    with pytest.raises(NotFound):
        perform(cluster, SetCaBundle("ValidatingWebhookConfiguration", "quotree", b"pem"))
    assert [seen.method for seen in api.seen] == ["GET"]


DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cohorts.kueue.x-k8s.io"
PEM = base64.b64encode(b"pem").decode()


def definition(labels: dict[str, str] | None, **client_config: Any) -> dict[str, Any]:
    metadata = {"name": "cohorts.kueue.x-k8s.io", "resourceVersion": "7", "labels": labels}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "quotree"}, **client_config}}
    return {"metadata": metadata, "spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


def test_only_the_ca_bundle_of_our_own_definition_is_written(api: FakeApi, cluster: ClusterClient) -> None:
    api.others += [ok(definition({**INSTALLED_BY, "more": "labels"})), ok({})]

    perform(cluster, SetConversionBundle("cohorts.kueue.x-k8s.io", b"pem"))

    read, write = api.seen
    assert [(read.method, read.path), (write.method, write.path)] == [("GET", DEFINITION), ("PATCH", DEFINITION)]
    assert write.body["metadata"] == {"name": "cohorts.kueue.x-k8s.io", "resourceVersion": "7"}
    assert write.body["spec"] == {"conversion": {"webhook": {"clientConfig": {"caBundle": PEM}}}}
    assert write.query == {"fieldManager": "quotree-certs", "force": "true"}


@pytest.mark.parametrize(
    "present",
    [
        definition(None),
        definition({"app.kubernetes.io/name": "kueue"}),
        definition({"quotree.dev/installed-by": "somebody"}),
        {"metadata": {"labels": INSTALLED_BY}, "spec": {"conversion": {"strategy": "None"}}},
        {"metadata": {"labels": INSTALLED_BY}, "spec": {}},
        definition(INSTALLED_BY, caBundle=PEM),
    ],
    ids=["no labels", "Kueue's", "another's", "no conversion", "no word of it", "all is well"],
)
def test_other_definitions_are_left_alone(api: FakeApi, cluster: ClusterClient, present: dict[str, Any]) -> None:
    api.others += [ok(present)]

    assert perform(cluster, SetConversionBundle("cohorts.kueue.x-k8s.io", b"pem")) == present

    assert [seen.method for seen in api.seen] == ["GET"]


def test_a_definition_that_does_not_exist_is_not_made(api: FakeApi, cluster: ClusterClient) -> None:
    with pytest.raises(NotFound):
        perform(cluster, SetConversionBundle("cohorts.kueue.x-k8s.io", b"pem"))
    assert [seen.method for seen in api.seen] == ["GET"]
