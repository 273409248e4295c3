"""The alternative tree: what would be free without the victims or without the pending reservations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policies.model.pools import Terms
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.queue_settings import ClusterQueueSettings, CohortSettings
from scheduling.quota.state import QuotaState
from scheduling.quota.tree import Alternative
from tests.scheduling.drawn import CPU

_QUEUES = ("a", "b", "c", "d")
_ABOVE = {"a": "x", "b": "x", "c": "y", "d": "root"}
_limits = st.none() | st.integers(0, 4)
_terms = st.builds(Terms, st.integers(0, 8), _limits, _limits)
_steps = st.tuples(st.sampled_from(["give", "promise", "leave"]), st.sampled_from(_QUEUES), st.integers(1, 5))


def _state(terms: dict[str, Terms]) -> QuotaState:
    state = QuotaState()
    for cohort, above in (("root", None), ("x", "root"), ("y", "root")):
        state.put_cohort(CohortSettings(cohort, above, {CPU: terms[cohort]}))
    for queue in _QUEUES:
        state.put_queue(ClusterQueueSettings(queue, _ABOVE[queue], {CPU: terms[queue]}, ()))
        state.tree.add(state.tree.queues[queue], {CPU: 4})
    return state


def _free(state: QuotaState, through: Alternative | None = None) -> dict[str, int]:
    nodes = state.tree.queues.values()
    return {node.name: (through.at(node) if through else node).available(CPU) for node in nodes}


@given(
    terms=st.fixed_dictionaries(dict.fromkeys((*_QUEUES, "root", "x", "y"), _terms)),
    steps=st.lists(_steps, max_size=8),
)
def test_after_and_meanwhile_equal_the_tree_with_some_usage_removed(
    terms: dict[str, Terms], steps: list[tuple[str, str, int]]
) -> None:
    """Each is updated step by step, and equals the tree once the victims, or the promises, are removed from it."""
    state = _state(terms)
    after, meanwhile = Alternative(state.tree), Alternative(state.tree)
    removed: dict[str, list[tuple[str, Usage]]] = {"leave": [], "promise": []}
    left = dict.fromkeys(_QUEUES, 4)
    for what, name, amount in steps:
        node, usage = state.tree.queues[name], _usage(amount)
        if what == "leave":
            usage = _usage(min(amount, left[name]))
            left[name] -= usage[CPU]
            after.remove(node, usage)
        else:
            after.add(node, usage)
            if what == "give":
                meanwhile.add(node, usage)
            else:
                meanwhile.miss(node)
            state.tree.add(node, usage)
        removed.setdefault(what, []).append((name, usage))
        for view, gone in ((after, "leave"), (meanwhile, "promise")):
            with state.tree.simulation():
                for each, taken in removed[gone]:
                    state.tree.remove(state.tree.queues[each], taken)
                expected = _free(state)
            assert _free(state, view) == expected


def test_a_simulation_on_an_alternative_is_undone_at_its_end() -> None:
    state = _state(dict.fromkeys((*_QUEUES, "root", "x", "y"), Terms(4)))
    node, after = state.tree.queues["a"], Alternative(state.tree)
    after.remove(state.tree.queues["b"], _usage(3))
    before = _free(state, after)
    with state.tree.simulation():
        state.tree.remove(after.at(node), _usage(4))
        assert after.at(node).available(CPU) == before["a"] + 4
    assert _free(state, after) == before


def _usage(amount: int) -> dict[FlavorResource, int]:
    return {CPU: amount}
