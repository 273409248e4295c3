"""Partial admission: the search for the largest pod counts that can get quota.

Only pod sets with a minimum count shrink, all in proportion. Like Kueue, it assumes that fewer pods never fit worse
than more. Source: Kueue v0.19, pkg/scheduler/flavorassigner: PodSetReducer; KEP-420.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from scheduling.objects.workload import PodSet

Answer = TypeVar("Answer")


def search(pod_sets: Sequence[PodSet], probe: Callable[[tuple[int, ...]], Answer | None]) -> Answer | None:
    """The result of `probe` for the largest counts with a result; None if no counts have one.

    If no pod set may shrink, `probe` is not called. The number of calls is logarithmic in the pods that may be missing.
    """
    full = [pod_set.count for pod_set in pod_sets]
    spare = [0 if pod_set.min_count is None else pod_set.count - pod_set.min_count for pod_set in pod_sets]
    total = sum(spare)
    if total <= 0:
        return None
    found: Answer | None = None
    low, high = 0, total + 1
    while low < high:
        step = (low + high) // 2
        counts = tuple(count - optional * step // total for count, optional in zip(full, spare, strict=True))
        answer = probe(counts)
        if answer is None:
            low = step + 1
        else:
            found, high = answer, step
    return found
