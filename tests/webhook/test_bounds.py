"""Objects with more entries than can be judged."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.forest import Forest
from tests.builders import queue
from tests.webhook.reviews import MUTATE_VOLCANO, VOLCANO, answer, client, review
from webhook.bounds import LIST, MAP, crowded

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
