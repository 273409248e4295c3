"""Random small trees of quota, with work in them."""

from __future__ import annotations

from hypothesis import strategies as st

from policies.model.pools import Terms
from scheduling.objects.amounts import FlavorResource
from scheduling.quota.tree import QuotaTree

PAIRS = (FlavorResource("a", "cpu"), FlavorResource("b", "cpu"))
PAIR = PAIRS[0]
amounts = st.integers(0, 9)
_limits = st.none() | st.integers(0, 6)
terms = st.builds(Terms, amounts, _limits, _limits)


@st.composite
def trees(draw: st.DrawFn) -> QuotaTree:
    """A tree with work in it, which may be more than there is."""
    tree = QuotaTree()
    count = draw(st.integers(1, 4))
    for i in range(count):
        parent = f"c{draw(st.integers(0, i - 1))}" if i else None
        own = draw(terms) if i else Terms(draw(amounts))
        tree.put_cohort(f"c{i}", parent, {PAIR: own})
    for i in range(draw(st.integers(1, 4))):
        tree.put_queue(f"q{i}", f"c{draw(st.integers(0, count - 1))}", {PAIR: draw(terms)})
        tree.add(tree.queues[f"q{i}"], {PAIR: draw(amounts)})
    return tree
