"""Paths of hierarchical DRF against a comparison of every pair."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.rule import COMPAT_ONLY, Profile
from tests.builders import change, found, queue, world

RULE = "hierarchy-path-nested"
paths = st.lists(st.sampled_from(["root", "a", "ab", ""]), min_size=1, max_size=4).map("/".join)
organisations = st.dictionaries(st.sampled_from([f"q{i}" for i in range(6)]), paths, max_size=6)


def hdrf(name: str, path: str) -> dict[str, Any]:
    manifest = queue(name)
    manifest["metadata"]["annotations"] = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": "1"}
    return manifest


@given(organisations, organisations)
def test_a_queue_is_told_of_all_above_it_and_of_one_below(stored: dict[str, str], new: dict[str, str]) -> None:
    after = {**stored, **new}
    before = world(*(hdrf(name, path) for name, path in stored.items()))

    told = {(f.object.name, f.subject) for f in found(RULE, change(before, *(hdrf(n, p) for n, p in new.items())))}

    expected = {
        (name, f"below {other}")
        for name, path in new.items()
        for other, its in after.items()
        if path and its and path.startswith(its + "/")
    }
    expected |= {
        (name, "above") for name, path in new.items() if path and any(i.startswith(path + "/") for i in after.values())
    }
    assert expected == told


def test_only_the_queue_that_lies_above_is_refused_by_volcano() -> None:
    stored = world(hdrf("mid", "root/a"), hdrf("leaf", "root/a/b/c"))

    upper, lower = (
        [f.profiles for f in found(RULE, change(stored, hdrf("new", path)))] for path in ("root", "root/a/x")
    )

    assert upper == [frozenset(Profile)]
    assert lower == [frozenset(Profile) - COMPAT_ONLY]
