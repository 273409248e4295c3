"""Objects with more entries than can be judged."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest

from policies.configuration.settings import YuniKornSettings
from policies.model.forest import Forest
from tests.builders import queue
from tests.webhook.reviews import MUTATE_VOLCANO, VOLCANO, YUNIKORN, answer, client, review
from webhook.bounds import LIST, MAP, crowded, foreign_settings

LARGE = 10**6


@pytest.mark.parametrize(
    ("manifest", "much"),
    [
        ({"a": {str(i): 0 for i in range(MAP)}}, ""),
        ({"a": [[{str(i): 0 for i in range(MAP + 1)}]]}, f"a map in it has {MAP + 1} entries"),
        ({"a": {"b": [0] * LIST}}, ""),
        ({"a": {"b": [0] * (LIST + 1)}}, f"a list in it has {LIST + 1} entries"),
    ],
)
def test_a_map_and_a_list_have_so_many_entries_at_most(manifest: dict[str, Any], much: str) -> None:
    reported = crowded(manifest, LARGE)

    assert reported.startswith(much)
    assert bool(reported) == bool(much)


def test_what_the_api_server_notes_about_each_entry_of_a_list_does_not_count() -> None:
    owned = {f'k:{{"name":"v{i}"}}': {} for i in range(MAP + 1)}

    assert crowded({"metadata": {"managedFields": [{"fieldsV1": {"f:env": owned}}]}}, LARGE) == ""
    assert crowded({"metadata": {"annotations": owned}}, LARGE)


def test_a_small_review_is_not_looked_at() -> None:
    assert crowded({str(i): 0 for i in range(MAP + 1)}, 60_000) == ""


@pytest.mark.parametrize("path", [VOLCANO, MUTATE_VOLCANO])
def test_such_an_object_is_denied_and_never_an_error_after_which_work_would_pass(path: str) -> None:
    many = queue("many", None)
    many["spec"]["capability"] = {f"r{i}": "1" for i in range(MAP + 1)}

    response = answer(client(Forest()), path, review(many))

    assert (response["allowed"], response["status"]["code"]) == (False, 413)
    assert response["status"]["message"].startswith(f"Queue many: a map in it has {MAP + 1} entries")


def test_such_an_object_can_be_deleted_and_repaired() -> None:
    many, few = queue("many", None), queue("many", None)
    many["spec"]["capability"] = {f"r{i}": "1" for i in range(MAP + 1)}

    assert answer(client(Forest()), VOLCANO, review(old=many))["allowed"] is True
    assert answer(client(Forest()), VOLCANO, review(few, many))["allowed"] is True


# -- ConfigMaps with the name of YuniKorn's in another namespace -------------------------------------------------------


def settings(namespace: str, **data: Any) -> dict[str, Any]:
    metadata = {"name": "yunikorn-configs", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **data}


LONG = "partitions:\n" + "#" * 70_000
ZIPPED = {"queues.yaml.gz": base64.b64encode(gzip.compress(LONG.encode())).decode()}


@pytest.mark.parametrize("data", [{"data": {"queues.yaml": LONG}}, {"binaryData": ZIPPED}], ids=["plain", "zipped"])
def test_a_tenant_cannot_have_a_large_tree_judged_that_yunikorn_does_not_read(data: dict[str, Any]) -> None:
    response = answer(client(Forest()), YUNIKORN, review(settings("tenant", **data)))

    assert (response["allowed"], response["status"]["code"]) == (False, 413)
    assert "outside of namespace yunikorn at most 65536 are judged" in response["status"]["message"]


@pytest.mark.parametrize(
    ("manifest", "known"),
    [
        (settings("yunikorn", data={"queues.yaml": LONG}), YuniKornSettings()),
        (settings("batch", data={"queues.yaml": LONG}), YuniKornSettings(namespace="batch")),
        (settings("tenant", data={"queues.yaml": LONG}), YuniKornSettings(follow=False)),
        (settings("tenant", data={"queues.yaml": LONG[:60_000]}), YuniKornSettings()),
        ({**settings("tenant", data={"queues.yaml": LONG}), "kind": "Secret"}, YuniKornSettings()),
        (None, YuniKornSettings()),
    ],
)
def test_all_others_are_judged(manifest: dict[str, Any] | None, known: YuniKornSettings) -> None:
    assert foreign_settings(manifest, known) == ""
