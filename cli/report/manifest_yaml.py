"""Renders manifests as YAML that people can read and `kubectl apply` accepts."""

from __future__ import annotations

import yaml


class _Readable(yaml.SafeDumper):
    """Writes a text of several lines as a block scalar, since quoted CEL expressions are hard to read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


def manifest_yaml(documents: list[dict[str, object]]) -> str:
    return yaml.dump_all(documents, Dumper=_Readable, sort_keys=False, width=120)
