"""The stored form of assignments: it reads back as written, and invalid forms cause no error."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from policies.schema import structure
from scheduling.topology.assignment import HOSTNAME, AssignedDomain, TopologyAssignment, merged, net_counts
from scheduling.topology.encoding import read_topology_assignment, written_topology_assignment
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import assigned


def _random(random: Random) -> TopologyAssignment:
    levels = random.choice(((HOSTNAME,), ("block", "rack"), ("block",)))
    names = [random.choice(("a", "aa", "aaa", "pool-a-", "pool-b-0", "-", "x-y-z")) + str(n) * n for n in range(4)]
    paths = {tuple(random.choice(names) for _ in levels) for _ in range(random.randint(0, 9))}
    return TopologyAssignment(levels, tuple(AssignedDomain(path, random.randint(1, 3)) for path in sorted(paths)))


@each_seed(5)
@pytest.mark.parametrize("by_prefix", [True, False])
def test_an_assignment_reads_back_as_written(seed: int, by_prefix: bool) -> None:
    assignment = _random(Random(seed))

    assert read_topology_assignment(written_topology_assignment(assignment, by_prefix=by_prefix)) == assignment


def test_hosts_of_two_pools_get_a_slice_each_where_that_is_shorter() -> None:
    pools = [f"pool-{pool}-node-{number:02}" for pool in "ab" for number in range(15)]
    assignment = TopologyAssignment((HOSTNAME,), tuple(AssignedDomain((host,), 2) for host in pools))

    slices = written_topology_assignment(assignment)["slices"]

    assert [each["domainCount"] for each in slices] == [15, 15]
    assert [each["valuesPerLevel"][0]["individual"]["prefix"] for each in slices] == ["pool-a-node-", "pool-b-node-"]
    assert len(written_topology_assignment(assignment, by_prefix=False)["slices"]) == 1


def test_many_prefixes_stay_below_the_limit_of_slices() -> None:
    hosts = [f"p{number}-{letter}" for number in range(1500) for letter in "ab"]
    assignment = TopologyAssignment((HOSTNAME,), tuple(AssignedDomain((host,), 1) for host in hosts))

    written = written_topology_assignment(assignment)

    assert len(written["slices"]) <= 1000
    assert read_topology_assignment(written) == assignment


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"levels": None, "slices": None},
        {"levels": ["a"], "slices": "all"},
        {"levels": ["a"], "slices": [None, 3, {}]},
        {"levels": ["a", "b"], "slices": [{"domainCount": 1, "valuesPerLevel": [{"universal": "x"}]}]},
        {"levels": ["a"], "slices": [{"domainCount": -1, "valuesPerLevel": [{"universal": "x"}]}]},
        {"levels": ["a"], "slices": [{"domainCount": 10**18, "valuesPerLevel": [{}], "podCounts": {"universal": 0}}]},
        {"levels": ["a"], "slices": [{"domainCount": 2, "valuesPerLevel": [{"individual": {"roots": ["x"]}}]}]},
    ],
)
def test_an_assignment_that_the_schema_rejects_is_read_without_an_error(stored: dict[str, Any]) -> None:
    found = read_topology_assignment(stored)

    assert len(found.domains) <= 100_000
    assert all(len(domain.values) == len(found.levels) for domain in found.domains)


def test_a_written_assignment_is_valid_in_the_schema_of_a_workload() -> None:
    assignment = written_topology_assignment(assigned("pool-a-1=2 pool-a-2=1 pool-b-1=1"))
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "ns"},
        "spec": {"podSets": [{"name": "main", "count": 4, "template": {"spec": {"containers": []}}}]},
        "status": {
            "admission": {
                "clusterQueue": "cq",
                "podSetAssignments": [{"name": "main", "topologyAssignment": assignment}],
            }
        },
    }

    assert [defect for defect in structure.defects(workload) if "topologyAssignment" in defect.field] == []


def test_merging_adds_up_the_pods_of_one_domain() -> None:
    assert merged(assigned("n1=1 n3=2"), assigned("n2=1 n3=1")) == assigned("n1=1 n2=1 n3=3")


def test_only_pods_beyond_the_present_ones_count_as_new() -> None:
    assert net_counts(assigned("n1=3 n2=1"), assigned("n1=1 n2=2")) == {("n1",): 2}
    assert net_counts(assigned("n1=3"), None) == {("n1",): 3}
