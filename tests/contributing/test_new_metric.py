"""docs/extend-the-reconciler.md, "A new metric": one file declares it and computes its values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contributing.scratch import copy_to

pytestmark = pytest.mark.apiserver

METRIC = '''"""How large the tree is."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample, Type
from reconciler.metrics.source import source
from scheduling.world.world import World

NODES = Family("quotree_reconciler_tree_nodes", "Nodes of the tree, by kind.", ("kind",))


@source(World, NODES)
def nodes(world: World) -> Iterator[Sample]:
    yield NODES.sample(len(world.state.tree.queues), "ClusterQueue")
    yield NODES.sample(len(world.state.tree.cohorts), "Cohort")
'''
SCRAPE = '''"""A scrape of a small world."""

from prometheus_client import CollectorRegistry, generate_latest

from reconciler.metrics.collector import Scraped
from scheduling.objects.queue_settings import CohortSettings
from scheduling.world.world import World

world = World()
world.put_cohort(CohortSettings("org", None, {}), 0)
registry = CollectorRegistry()
registry.register(Scraped(World, lambda read: read(world)))
print(generate_latest(registry).decode())
'''


def test_a_new_metric_is_one_file(tmp_path: Path) -> None:
    scratch = copy_to(tmp_path, "tests", "docs", "manifests", "charts", "monitoring")
    scratch.write("reconciler/metrics/families/tree_size.py", METRIC)
    scratch.write("scrape.py", SCRAPE)

    assert scratch.run("generators").splitlines() == ["wrote docs/surfaces/metrics.txt", "wrote docs/metrics.md"]
    row = "| `quotree_reconciler_tree_nodes` | gauge | `kind` | beta | Nodes of the tree, by kind. |"
    assert row in (tmp_path / "docs" / "metrics.md").read_text(encoding="utf-8").splitlines()

    scraped = scratch.run("scrape").splitlines()
    assert "# HELP quotree_reconciler_tree_nodes Nodes of the tree, by kind." in scraped
    assert 'quotree_reconciler_tree_nodes{kind="Cohort"} 1.0' in scraped
    assert 'quotree_reconciler_tree_nodes{kind="ClusterQueue"} 0.0' in scraped
