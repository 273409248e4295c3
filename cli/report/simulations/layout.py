"""The text layout that all simulations share."""

from __future__ import annotations

from collections.abc import Iterable

from cli.output import section, some
from policies.model.printing import plain


def outcome_text(
    where: str,
    counts: Iterable[tuple[int, str]],
    assumed: Iterable[str],
    happened: Iterable[str],
    waits: Iterable[str],
    in_use: Iterable[str],
    left_out: Iterable[str] = (),
    how: str = "",
) -> str:
    """The text of one simulation.

    `where`: ` in ` and the scheduler; empty for Kueue.
    `counts`: the numbers of objects that were read, each with its noun.
    `left_out`: the jobs that are in no queue.
    `how`: the end of the first line.
    """
    return "\n".join(
        [
            f"simulated{where}: {', '.join(some(*count) for count in counts)}{how}",
            *(f"assumed: {plain(each)}" for each in assumed),
            *section(f"what happened{where}", map(plain, happened)),
            *section(f"what waits{where}", waits),
            *section("in no queue", map(plain, left_out)),
            *section(f"what is in use{where}", in_use, indent=""),
        ]
    )
