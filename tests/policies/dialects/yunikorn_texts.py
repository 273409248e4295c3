"""Texts of annotations that YuniKorn can read, cannot read, or takes for nothing, and random ones."""

from __future__ import annotations

import json

from hypothesis import strategies as st

UNREADABLE = [
    ("memory", "64MiB"),
    ("memory", "64K"),
    ("memory", "1 G"),
    ("memory", " 1G"),
    ("memory", "xyz"),
    ("memory", ""),
    ("memory", "9223372036854775808"),
    ("cpu", "9223372036854776"),
    ("cpu", "9223372036854775.808"),
]
JSON_VOID = [
    '{"cpu":64}',
    '{"cpu":true}',
    '{"cpu":{}}',
    '{"cpu":["1"]}',
    '{"cpu":null}',
    '{"cpu":1,"cpu":"2"}',
    '["1"]',
    '"x"',
    "4",
    "true",
    "{'cpu':'1'}",
    '{"cpu":"1"} x',
    '{"cpu":"1"',
    '{"cpu":"1",}',
    "nullx",
    "NaN",
    " ",
    "\ufeff{}",
    '{"cpu":"1",\u00a0"memory":"1G"}',
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
RESOURCES = st.sampled_from(["cpu", "memory", "vcore", "pods", "nvidia.com/gpu", "CPU", ""]) | st.text()
QUANTITIES = st.sampled_from(["0", "1", "64Gi", "500m", "-1", "64MiB", " 1", "9223372036854776", "1e30"]) | st.text()
OBJECTS = st.dictionaries(RESOURCES, QUANTITIES | JSON, max_size=4)
ANNOTATIONS = st.text() | OBJECTS.map(json.dumps) | OBJECTS.map(repr) | JSON.map(json.dumps)
