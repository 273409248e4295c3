"""Amounts: the ends of int64, missing types and missing amounts."""

from __future__ import annotations

import pytest

from policies.dialects.yunikorn_config import resources, shares
from policies.dialects.yunikorn_config.resources import INT64_MIN
from policies.model.quantity import INT64_MAX


def test_sums_stop_at_the_ends_of_int64() -> None:
    assert resources.plus({"a": INT64_MAX}, {"a": 1, "b": 2}) == {"a": INT64_MAX, "b": 2}
    assert resources.minus({"a": INT64_MIN}, {"a": 1}) == {"a": INT64_MIN}
    assert resources.total([{"a": INT64_MAX}, {"a": INT64_MAX}, {"b": 1}]) == {"a": INT64_MAX, "b": 1}
    assert resources.times({"a": INT64_MAX, "b": -3}, 1.5) == {"a": INT64_MAX, "b": -4}


def test_a_missing_type_is_no_limit_or_zero_as_the_name_says() -> None:
    assert resources.over({"a": 2, "b": 9}, {"a": 1}) == ["a"]
    assert resources.over({"a": 0}, {"a": -5}) == []
    assert resources.least({"a": 1}, {"a": 2, "b": 3}) == {"a": 1, "b": 3}
    assert resources.largest({"a": -1}, {"b": 3}) == {"a": 0, "b": 3}


def test_no_amounts_are_zero_and_one_below_zero_is_not_positive() -> None:
    assert resources.is_zero(None)
    assert not resources.is_positive({"a": 1, "b": -1})


BAD_TAGS = ["", "[]", "5", '{"resources":[]}', '{"resources":{"a":5}}', '{"resources":{"a":{"value":"5"}}}']


@pytest.mark.parametrize("text", BAD_TAGS)
def test_what_is_no_tag_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        resources.from_tag(text)


def test_tags() -> None:
    assert resources.from_tag('{"resources":{"a":{"value":5},"b":{},"c":null}}') == {"a": 5, "b": 0, "c": 0}
    assert resources.from_tag("null") == {}


def test_without_a_guarantee_or_a_max_any_use_is_all_of_it() -> None:
    assert shares.fair_share({"a": 5}, {"a": 0}, None) == 1
