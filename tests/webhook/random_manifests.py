"""Any JSON, and manifests of every kind whose fields hold any JSON, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from policies.dialects import READERS
from policies.dialects.core import CONFIG_MAP

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=8), values, max_size=4),
    max_leaves=12,
)
kinds = st.sampled_from(sorted(READERS.keys() - {CONFIG_MAP})).flatmap(
    lambda kind: st.sampled_from(["v1", "v1beta1", "v1beta2", "v1alpha1"]).map(
        lambda version: {"apiVersion": f"{kind.group}/{version}" if kind.group else "v1", "kind": kind.kind}
    )
)
manifests = st.builds(
    lambda kind, spec, metadata, status: {**kind, "spec": spec, "metadata": metadata, "status": status},
    kinds,
    json_values,
    json_values,
    json_values,
)
