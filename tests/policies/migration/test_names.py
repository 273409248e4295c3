"""Names that Kueue can have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policies.dialects.labels import is_domain, is_label_value
from policies.migration.building import kueue_names


@given(st.sets(st.text("aA-._@9", max_size=5) | st.text(max_size=80), max_size=30))
def test_generated_names_are_valid_and_unique(names: set[str]) -> None:
    found = kueue_names(names)

    assert found.keys() == names
    assert len(set(found.values())) == len(names)
    assert all(is_domain(new) and is_label_value(new) for new in found.values())


@given(st.sets(st.text("ab.-@", min_size=1, max_size=4), max_size=10))
def test_valid_name_is_kept(names: set[str]) -> None:
    assert all(new == name for name, new in kueue_names(names).items() if is_domain(name))


def test_name_too_long_for_a_label_is_shortened_with_a_suffix() -> None:
    (new,) = kueue_names(["a" * 64]).values()

    assert (new[:55], len(new)) == ("a" * 54 + "-", 63)
