"""Small queue configurations in few words."""

from __future__ import annotations

from textwrap import dedent, indent

from policies.dialects.yunikorn_config.model import Config, ConfiguredQueue, Partition
from policies.dialects.yunikorn_config.reading import read_config


def partition(queues: str, rules: str = "") -> Partition:
    """A default partition with these queues below root."""
    found = config(queues, rules).partition
    assert found is not None
    return found


def config(queues: str, rules: str = "") -> Config:
    text = "partitions:\n  - name: default\n"
    if rules:
        text += "    placementrules:\n" + indent(dedent(rules).strip("\n"), "      ") + "\n"
    text += '    queues:\n      - name: root\n        submitacl: "*"\n        queues:\n'
    text += indent(dedent(queues).strip("\n"), "          ") + "\n"
    found = read_config(text)
    assert found.problems == ()
    return found


def root(queues: str) -> ConfiguredQueue:
    found = partition(queues).root
    assert found is not None
    return found
