"""Expressions that select devices."""

from __future__ import annotations

import pytest

from policies.configuration.kueue.device_expression import expression_fault
from tests.profiles import each_case


@pytest.mark.parametrize(
    "expression",
    [
        "true",
        "device.driver == 'gpu.example.com'",
        "device.attributes['gpu.example.com'].type == 'gpu' && !device.attributes[\"gpu.example.com\"].shared",
        "device.capacity['gpu.example.com'].memory.compareTo(quantity('10Gi')) >= 0",
        "device.attributes['a'].?b.orValue(false)",
        "has(device.attributes['a'].b) ? device.attributes['a'].b in [1, 2u, 0x3] : false",
        "['a', 'b'].exists(name, device.driver == name)",
        "cel.bind(found, device.attributes['a'], found.x == {'k': 1}.k)",
        "device.allowMultipleAllocations // shared",
    ],
)
def test_valid_device_expression_is_accepted(expression: str) -> None:
    assert expression_fault(expression) == ""


@each_case(
    ("expression", "says"),
    [
        ("not an expression", "not is unknown"),
        ("device.driver ==", "missing at the end"),
        ("(device.driver == 'a'", "')' is missing"),
        ("device.driver == 'a')", "')' does not belong there"),
        ("device.driver = 'a'", "'=' at character 15"),
        ("device.", "a name is missing"),
        ("device.color == 'red'", "a device has no field color"),
        ("node.driver == 'a'", "node is unknown"),
        ("device.driver", "must evaluate to true or false"),
        ("1 + 2", "must evaluate to true or false"),
        ("'gpu'", "must evaluate to true or false"),
        ("[1].exists(n, n > 0) && n > 0", "n is unknown"),
        ("(" * 200 + "true" + ")" * 200, "nested too deeply"),
        ("a" * 20_000, "longer than"),
    ],
)
def test_invalid_device_expression_is_rejected_with_a_reason(expression: str, says: str) -> None:
    assert says in expression_fault(expression)
