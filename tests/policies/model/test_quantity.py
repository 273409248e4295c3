from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.quantity import INT64_MAX, BadQuantity, Quantity, add, maximum
from tests.profiles import each_case

NUMBERS = st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})", fullmatch=True)
SUFFIXES = st.sampled_from(["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]) | st.from_regex(
    r"[eE][+-]?[0-9]{1,2}", fullmatch=True
)
TEXTS = st.builds(str.__add__, NUMBERS, SUFFIXES)
QUANTITIES = TEXTS.map(Quantity.parse)


def parsed(**amounts: str) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in amounts.items()}


# -- reading -----------------------------------------------------------------------------------------------------------


@each_case(
    ("text", "nano"),
    [
        ("0", 0),
        ("1n", 1),
        ("1u", 10**3),
        ("1m", 10**6),
        ("1", 10**9),
        ("1k", 10**12),
        ("1M", 10**15),
        ("1G", 10**18),
        ("1T", 10**21),
        ("1P", 10**24),
        ("1E", 10**27),
        ("1Ki", 2**10 * 10**9),
        ("1Mi", 2**20 * 10**9),
        ("1Gi", 2**30 * 10**9),
        ("1Ti", 2**40 * 10**9),
        ("1Pi", 2**50 * 10**9),
        ("1Ei", 2**60 * 10**9),
        ("1e3", 10**12),
        ("1E3", 10**12),
        ("1e+03", 10**12),
        ("1e-3", 10**6),
        ("+5", 5 * 10**9),
        ("-10", -10 * 10**9),
        ("010", 10 * 10**9),
        ("5.", 5 * 10**9),
        (".5", 5 * 10**8),
        ("-1.5Gi", -1610612736 * 10**9),
        ("12E5", 12 * 10**14),
    ],
)
def test_every_suffix_has_its_exact_value(text: str, nano: int) -> None:
    assert nano == Quantity.parse(text).nano


@each_case(("key", "text", "result"), [
    ("cpu", "4", 4000),
    ("cpu", "0.5", 500),
    ("cpu", "100m", 100),
    ("cpu", "100n", 1),
    ("cpu", "-10", -10000),
    ("memory", "1G", 1000000000),
    ("memory", "1Gi", 1073741824),
    ("memory", "1.5Gi", 1610612736),
    ("memory", "1e3", 1000),
    ("memory", "100m", 1),
    ("nvidia.com/gpu", "1", 1),
    ("nvidia.com/gpu", "0.5", 1),
    ("pods", "20", 20),
])  # fmt: skip
def test_yunikorn_reads_cpu_in_milli_and_all_else_in_whole_units_rounded_up(key: str, text: str, result: int) -> None:
    quantity = Quantity.parse(text)

    assert result == (quantity.milli() if key == "cpu" else quantity.units())


@pytest.mark.parametrize(("text", "nano"), [("0.1n", 1), ("1.5n", 2), ("-0.1n", -1), ("1e-900", 1), ("-1e-11", -1)])
def test_amount_below_nano_is_rounded_away_from_zero(text: str, nano: int) -> None:
    assert nano == Quantity.parse(text).nano


@pytest.mark.parametrize(
    ("text", "units", "milli"),
    [("1.1", 2, 1100), ("-1.1", -2, -1100), ("1n", 1, 1), ("-1n", -1, -1), ("0", 0, 0), ("1000.0001m", 2, 1001)],
)
def test_whole_units_and_milli_are_rounded_away_from_zero(text: str, units: int, milli: int) -> None:
    quantity = Quantity.parse(text)

    assert (units, milli) == (quantity.units(), quantity.milli())


@pytest.mark.parametrize(("text", "units"), [("8Ei", INT64_MAX), ("9999999Ei", INT64_MAX), ("-8Ei", -INT64_MAX)])
def test_a_binary_suffix_is_capped_at_int64(text: str, units: int) -> None:
    assert units == Quantity.parse(text).units()


def test_a_decimal_value_beyond_int64_stays_exact() -> None:
    quantity = Quantity.parse("9223372036854775808")

    assert quantity.units() == INT64_MAX + 1


@pytest.mark.parametrize("number", [0, 7, -7, 10**30, 10**899])
def test_integer_equals_the_text_of_its_digits(number: int) -> None:
    assert Quantity.parse(str(number)) == Quantity.parse(number)
    assert str(number) == Quantity.parse(number).text


# -- refusing ----------------------------------------------------------------------------------------------------------


@each_case(
    ("text", "cure"),
    [
        ("64MiB", "write 64Mi"),
        ("64MB", "write 64M"),
        ("64kB", "write 64k"),
        ("64K", "write 64k or 64Ki"),
        ("64g", "write 64G or 64Gi"),
        ("64mib", "write 64Mi"),
        ("64B", "write 64"),
        ("1 G", "write 1G without the blank"),
        (" 1G", "write 1G without the blank"),
        ("1G\n", "write 1G without the blank"),
        ("1_000", "write 1000 without the underscore"),
        ("\u0663Gi", "write 3Gi"),
        ("5\u00b5", "write 5u"),
        ("1,5", "decimal point"),
    ],
)
def test_common_unit_error_is_rejected_with_a_fix(text: str, cure: str) -> None:
    with pytest.raises(BadQuantity) as refusal:
        Quantity.parse(text)

    assert cure in str(refusal.value)
    assert repr(text) in str(refusal.value)


@each_case(
    "text",
    ["", " ", "xyz", "NaN", "Infinity", "-inf", "+", "-", ".", "+.", "m", "Ki", "E", "e5", "1e", "1e+", "1ee5", "1e5.5",
     "1.1.1", "--5", "+-5", "5+", "1i", "1KI", "1Kii", "1iK", "1mm", "1m5", "0x10", "1e5e5", "1Ki5", "1\x00", "\uff11"],
)  # fmt: skip
def test_text_outside_the_quantity_grammar_is_rejected(text: str) -> None:
    with pytest.raises(BadQuantity, match="is not a valid quantity"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (True, "true"),
        (None, "null"),
        (1.5, 'write it as a string, "1.5"'),
        (float("nan"), "nan"),
        (Decimal("0.5"), 'write it as a string, "0.5"'),
        ([], "a list"),
        ({}, "a mapping"),
        (b"1", "bytes"),
    ],
)
def test_only_texts_and_integers_are_quantities(value: object, named: str) -> None:
    with pytest.raises(BadQuantity) as refusal:
        Quantity.parse(value)

    assert named in str(refusal.value)


@pytest.mark.parametrize(
    "value", ["1e999999999", "1e-999999999", "0e999999999", "1e901", "1e900", "9" * 2_000_000, "1" + "0" * 900, 10**900]
)
def test_oversized_value_is_rejected_with_a_short_message(value: object) -> None:
    with pytest.raises(BadQuantity) as refusal:
        Quantity.parse(value)

    assert len(str(refusal.value)) < 150


def test_the_largest_values_are_read_and_printed() -> None:
    assert str(Quantity.parse("9e899")) == "900e897"
    assert str(Quantity.parse("9" * 900)) == "9" * 900
    assert str(Quantity.parse("1" * 891 + "." + "1" * 9)) == "1" * 900 + "n"


# -- printing ----------------------------------------------------------------------------------------------------------


@each_case(
    ("text", "canonical"),
    [
        ("1.5", "1500m"),
        ("1500", "1500"),
        ("1.500k", "1500"),
        ("1000k", "1M"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1023Ki", "1023Ki"),
        ("1Ki", "1Ki"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("0.0001Ki", "102400u"),
        ("1.1Ki", "1126400m"),
        ("1025.5Ki", "1050112"),
        ("-1024Ki", "-1Mi"),
        ("8Ei", "9223372036854775807"),
        ("+5", "5"),
        ("-0", "0"),
        ("0Ki", "0"),
        ("000", "0"),
        ("1E3", "1e3"),
        ("12e4", "120e3"),
        ("15e-4", "1500e-6"),
        ("5e0", "5"),
        ("1e-10", "1e-9"),
        ("1000E", "1e21"),
        ("1500E", "1500E"),
    ],
)
def test_canonical_text_has_the_largest_suffix_without_a_fraction(text: str, canonical: str) -> None:
    quantity = Quantity.parse(text)

    assert canonical == str(quantity)
    assert text == quantity.text


def test_a_computed_quantity_shows_its_canonical_text() -> None:
    assert Quantity.of_nano(1536 * 2**20 * 10**9, like="BinarySI").text == "1536Mi"
    assert Quantity.of_nano(1536 * 2**20 * 10**9).text == "1610612736"
    assert str(Quantity.of_nano(2**64 * 10**9, like="BinarySI")) == "16Ei"
    assert str(Quantity.of_nano(2**70 * 10**9, like="BinarySI")) == "1024Ei"


@given(TEXTS)
def test_canonical_text_reads_back_as_the_same_value_and_stays(text: str) -> None:
    quantity = Quantity.parse(text)
    again = Quantity.parse(str(quantity))

    assert quantity == again
    assert str(quantity) == str(again)


@given(st.text(max_size=30) | st.text("0123456789.+-eEinumkKMGTP", max_size=12))
def test_any_text_is_either_a_quantity_or_refused(text: str) -> None:
    with suppress(BadQuantity):
        quantity = Quantity.parse(text)
        assert quantity == Quantity.parse(str(quantity))


# -- reckoning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("1Gi", "1G", "2073741824"),
        ("1Gi", "1Gi", "2Gi"),
        ("0", "1Gi", "1Gi"),
        ("1G", "1Gi", "2073741824"),
        ("1e3", "1k", "2e3"),
        ("0Ki", "1k", "1k"),
        ("500m", "0.5", "1"),
    ],
)
def test_a_sum_has_the_format_of_its_first_operand_that_is_not_zero(left: str, right: str, total: str) -> None:
    assert total == str(Quantity.parse(left) + Quantity.parse(right))


@given(QUANTITIES, QUANTITIES)
def test_sums_and_differences_are_exact(left: Quantity, right: Quantity) -> None:
    assert left.nano + right.nano == (left + right).nano
    assert left.nano - right.nano == (left - right).nano
    assert left == (left + right) - right
    assert left + -left == Quantity.ZERO


@given(QUANTITIES, QUANTITIES)
def test_order_and_equality_are_those_of_the_values(left: Quantity, right: Quantity) -> None:
    a, b = left.nano, right.nano

    assert (a < b, a <= b, a == b, a >= b, a > b) == (
        left < right, left <= right, left == right, left >= right, left > right,
    )  # fmt: skip
    assert sorted([a, b]) == [quantity.nano for quantity in sorted([left, right])]


def test_equal_values_hash_equally() -> None:
    assert {Quantity.parse("1Gi")} == {Quantity.parse("1024Mi"), Quantity.parse("1073741824")}
    assert Quantity.parse("1") != 1


def test_a_quantity_is_not_compared_with_a_number() -> None:
    with pytest.raises(TypeError):
        _ = Quantity.parse("1") < 2  # type: ignore[operator]


# -- amounts -----------------------------------------------------------------------------------------------------------


def test_amounts_are_added_by_name_and_keep_every_name() -> None:
    a, b = parsed(cpu="4", memory="1Gi"), parsed(cpu="500m", gpu="1")

    assert parsed(cpu="4500m", memory="1Gi", gpu="1") == add(a, b)


def test_maximum_takes_the_larger_by_name() -> None:
    assert parsed(cpu="4", memory="2Gi", gpu="-1") == maximum(
        parsed(cpu="4", memory="1Gi"), parsed(memory="2Gi", cpu="3", gpu="-1")
    )
