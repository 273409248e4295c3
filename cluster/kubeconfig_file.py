"""Reads kubeconfig files with our YAML reader, since that of the `kubernetes` package does not limit YAML aliases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cluster.errors import NotConfigured
from policies.dialects.kubeconfig import MAX_COPIED
from policies.text.positions import BadText, position
from policies.text.yaml_values import single

MAX_SIZE = 16 * 2**20
"""The maximum size of a file in bytes. A thousand clusters with their certificates take about 5 MiB."""


def read_file(path: str) -> dict[str, Any]:
    """Read and parse a kubeconfig. Raises NotConfigured, OSError or UnicodeDecodeError."""
    with Path(path).open("rb") as file:
        content = file.read(MAX_SIZE + 1)
    if len(content) > MAX_SIZE:
        raise NotConfigured(f"{path}: it has more than {MAX_SIZE} bytes")
    text = content.decode("utf-8-sig")
    try:
        value = single(text, MAX_COPIED)
    except BadText as bad:
        raise NotConfigured(f"{path}, {position(text, bad.offset)}: {bad.message}") from None
    if not isinstance(value, dict):
        raise NotConfigured(f"{path}: it is not a mapping")
    # Our reader returns exact decimals, but the package, which may write the file back, supports only floats.
    plain: dict[str, Any] = json.loads(json.dumps(value, default=float))
    return plain
