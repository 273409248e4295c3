"""The content of an entry: exactly the fields that the rules read of the object that will be stored."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from policies.dialects import read
from policies.model.change import ChangeOperation
from policies.model.objects import Ref
from tests.builders import (
    cluster_queue,
    cohort,
    config_map,
    flavor,
    group,
    kueue,
    local_queue,
    namespace,
    queue,
)
from webhook.ledger.entry import FORMAT, LedgerEntry, UnreadableEntry, entry, new_entry

Manifest = dict[str, Any]

OBJECTS: list[Manifest] = [
    queue("ml", "eng", deserved="cpu:4,memory:1Gi", guarantee="cpu:1", pods="3"),
    {**queue("h"), "metadata": {"name": "h", "annotations": {"volcano.sh/hierarchy": "root/a", "other": "dropped"}}},
    cohort("org", "top"),
    cluster_queue("team", "org", group("cpu", flavor("spot", cpu="4"))),
    {**cohort("odd"), "spec": {"parentName": 5}},
    local_queue("lq", "team"),
    kueue("ResourceFlavor", "spot", {"nodeLabels": {"a": "b"}}),
    kueue("AdmissionCheck", "check", {"controllerName": "kueue.x-k8s.io/multikueue"}),
    kueue("MultiKueueConfig", "config", {"clusters": ["eu"]}),
    kueue("MultiKueueCluster", "eu", {"kubeConfig": {"location": "eu", "locationType": "Secret"}}),
    namespace("team", {"yunikorn.apache.org/namespace.quota": '{"cpu": "4"}', "note": "dropped"}),
    config_map("yunikorn-configs", "yunikorn", data={"queues.yaml": "partitions: []"}),
    {
        **cohort("x"),
        "metadata": {"name": "x", "annotations": {"ignore.quotree.dev/depth-exceeded": "why; until=2030-01-01"}},
    },
]


def flavor_object() -> Manifest:
    return kueue("ResourceFlavor", "spot", {"nodeLabels": {"a": "b"}})


def again(made: LedgerEntry) -> LedgerEntry:
    """The same entry as another replica reads it."""
    return entry.__wrapped__(made.request, made.text)


@pytest.mark.parametrize("manifest", OBJECTS, ids=lambda manifest: f"{manifest['kind']} {manifest['metadata']['name']}")
def test_an_entry_reads_back_as_the_object_that_the_rules_judged(manifest: Manifest) -> None:
    obj = read(manifest)
    assert obj is not None

    assert again(new_entry("r", obj.ref, None, manifest, "ada", "now")).after == obj


def test_an_entry_has_only_the_metadata_that_rules_read() -> None:
    meta = {"name": "a", "uid": "u", "managedFields": [1], "finalizers": ["f"], "annotations": {"secret": "x" * 10_000}}
    made = new_entry("r", Ref("g", "Cohort", "", "a"), None, {**cohort("a"), "metadata": meta}, "ada", "now")

    assert len(made.text) < 400
    assert made.uid == "u"


FILLED = {f"x{number}.kueue.x-k8s.io/volcano.sh/blob": "x" * 60 for number in range(300)}


@pytest.mark.parametrize(
    "manifest",
    [local_queue("lq", "team"), queue("q", "top", deserved="cpu:1"), cluster_queue("cq"), cohort("c"), flavor_object()],
    ids=lambda manifest: str(manifest["kind"]),
)
def test_an_entry_has_no_labels_or_annotations_of_users(manifest: Manifest) -> None:
    noise = {"annotations": FILLED, "labels": FILLED, "managedFields": [1], "finalizers": ["f"]}
    filled = {**manifest, "metadata": {**manifest["metadata"], **noise}}
    obj = read(filled)
    assert obj is not None

    made = new_entry("r", obj.ref, None, filled, "ada", "now")

    assert len(made.text) < 600
    assert made.after == read(manifest)


def test_an_entry_of_a_local_queue_has_only_its_cluster_queue() -> None:
    filled = {**local_queue("lq", "team"), "status": {"flavors": ["x" * 10_000]}}
    filled["spec"] = {**filled["spec"], "fairSharing": {"weight": "9" * 10_000}}

    made = new_entry("r", Ref("kueue.x-k8s.io", "LocalQueue", "default", "lq"), None, filled, "ada", "now")

    assert len(made.text) < 400
    assert made.after == read(local_queue("lq", "team"))


def test_an_entry_has_an_exemption_with_the_beginning_of_its_reason() -> None:
    notes = {
        "ignore.quotree.dev/depth-exceeded": f"{'x' * 400}; until=2030-01-01; ref={'x' * 9000}",
        "ignore.quotree.dev/flawed": "x" * 9000,
    }
    excused = {**cohort("x"), "metadata": {"name": "x", "annotations": notes}}

    made = new_entry("r", Ref("kueue.x-k8s.io", "Cohort", "", "x"), None, excused, "ada", "now")

    assert made.after is not None
    [kept] = made.after.exemptions
    assert (kept.rule, str(kept.until), kept.flaw, len(kept.reason)) == ("depth-exceeded", "2030-01-01", "", 60)


def test_a_long_user_name_is_shortened_to_a_unique_name() -> None:
    def user_of(name: str) -> str:
        return new_entry("r", Ref("g", "Cohort", "", "a"), None, cohort("a"), name, "now").user

    one, other = user_of("u" * 5000 + "a"), user_of("u" * 5000 + "b")

    assert len(one) < 200
    assert one != other
    assert user_of("ada") == "ada"


def test_service_accounts_of_a_namespace_are_one_author() -> None:
    def author_of(name: str) -> str:
        return new_entry("r", Ref("g", "Cohort", "", "a"), None, cohort("a"), name, "now").author

    assert author_of("system:serviceaccount:team:one") == author_of("system:serviceaccount:team:two")
    assert author_of("system:serviceaccount:team:one") != author_of("system:serviceaccount:other:one")
    assert author_of("a:b") == "a:b"
    assert author_of("system:serviceaccount:kube-system:job-controller").endswith(":job-controller")


def test_an_entry_of_an_update_or_a_deletion_has_the_old_resource_version() -> None:
    ref = Ref("scheduling.volcano.sh", "Queue", "", "a")
    old = {**queue("a"), "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}}

    created = new_entry("r", ref, None, {**queue("a"), "metadata": {"name": "a", "uid": "u"}}, "ada", "now")
    changed = new_entry("r", ref, old, queue("a"), "ada", "now")
    deleted = new_entry("r", ref, old, None, "ada", "now")

    assert [(each.uid, each.base) for each in (created, changed, deleted)] == [("u", ""), ("u", "7"), ("u", "7")]
    assert [each.operation for each in (created, changed, deleted)] == [*ChangeOperation]
    assert str(deleted) == "DELETE of Queue a by ada at now"


def with_state(state: str) -> str:
    fields = {"uid": "", "base": "", "user": "", "at": "", "state": state}
    return json.dumps({"format": 1, "object": ["", "", "", "a"], **fields})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        json.dumps({"format": FORMAT + 1}),
        with_state("!"),
        with_state(base64.b64encode(zlib.compress(b"[1]")).decode()),
    ],
)
def test_an_unreadable_entry_is_an_error(text: str) -> None:
    with pytest.raises(UnreadableEntry, match="entry r cannot be read"):
        entry("r", text)
