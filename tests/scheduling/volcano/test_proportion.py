"""The plugin proportion in whole sessions."""

from __future__ import annotations

from scheduling.volcano.actions import run
from scheduling.volcano.setup import PluginSettings
from tests.scheduling.volcano.drawn import cluster, engine_with, group, node, pod

FLAT = [[PluginSettings("gang"), PluginSettings("proportion")]]


def test_a_queue_is_reclaimed_from_even_if_it_uses_less_than_the_pod_requests() -> None:
    groups = [group(f"v{i}", f"V{i}", "Running", members=0) for i in range(3)]
    victims = [*groups, *(pod(f"v{i}", f"v{i}", "cpu=2", "n1") for i in range(3))]
    large = group("large", "mine"), pod("large", "large", "cpu=4")
    drawn = cluster("V0\nV1\nV2\nmine weight:9", [node("n1", "cpu=6")], *victims, large)

    outcome = run(engine_with(drawn, FLAT).session(), ["allocate", "reclaim"])

    assert (len(outcome.evicted), outcome.pipelined) == (2, {"ns/large": "n1"})
