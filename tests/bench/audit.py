"""Rows about the processor time of an audit of everything that is stored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from statistics import median

from policies.audit.audited import audit
from policies.configuration.settings import Configuration
from policies.dialects import read
from policies.model.forest import Forest
from tests.builders import EVERYTHING, FLAVOR, Manifest, cluster_queue, cohort, flavor, group, local_queue, queue

_LAPS = 5
_TREES = (1, 10, 100)
"""Numbers of trees. Each has 121 queues and 100 LocalQueues: ten Cohorts of ten ClusterQueues, ten Volcano queues."""


def rows() -> None:
    """Print a row for each number of queues."""
    print(f"\n{'processor ms of one audit':40} {'objects':>8} {'ms':>8}")
    for trees in _TREES:
        forest = Forest.of(filter(None, map(read, _manifests(trees))), EVERYTHING)
        took, nodes = [], 0
        for _ in range(_LAPS):
            began = time.process_time()
            nodes = audit(forest, Configuration(), datetime.now(UTC)).nodes
            took.append(time.process_time() - began)
        print(f"{f'{nodes} queues':40} {len(forest):8} {1000 * median(took):8.1f}", flush=True)


def _manifests(trees: int) -> Iterator[Manifest]:
    yield FLAVOR
    for tree in range(trees):
        yield cohort(f"top-{tree}")
        yield from (queue(f"queue-{tree}-{number}", "root", deserved="cpu:1") for number in range(10))
        for middle in range(10):
            yield cohort(f"mid-{tree}-{middle}", f"top-{tree}")
            for leaf in range(10):
                name = f"team-{tree}-{middle}-{leaf}"
                quota = group("cpu memory", flavor("spot", cpu="4", memory="8Gi"))
                yield cluster_queue(name, f"mid-{tree}-{middle}", quota)
                yield local_queue("main", name, namespace=name)
