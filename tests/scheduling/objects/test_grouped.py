"""Indexes of keys by group."""

from __future__ import annotations

from scheduling.objects.grouped import Links


def test_a_key_is_in_its_present_groups_only_and_empty_groups_are_gone() -> None:
    owned: Links[str, str] = Links()

    owned.put("ns/w", ["job-uid", "pod-uid", "job-uid"])
    owned.put("ns/v", ["job-uid"])
    assert (owned.of("job-uid"), owned.groups("ns/w")) == (["ns/w", "ns/v"], ("job-uid", "pod-uid"))

    owned.put("ns/w", ["pod-uid"])
    assert (owned.of("job-uid"), owned.of("pod-uid")) == (["ns/v"], ["ns/w"])

    owned.drop("ns/w")
    owned.drop("ns/w")
    assert (owned.of("pod-uid"), owned.groups("ns/w"), "pod-uid" in owned) == ([], (), False)
