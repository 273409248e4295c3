"""The name of the state with which a change is compared. It is separate from `analysis.context`, which loads slowly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextName:
    """The name of a state.

    kind: nothing, files, snapshot or cluster.
    name: a folder, a file or a kubeconfig context; may be empty.
    """

    kind: str = "nothing"
    name: str = ""

    @property
    def of_cluster(self) -> bool:
        """Whether it is a cluster with its workloads: the current one, or a snapshot."""
        return self.kind in ("cluster", "snapshot")

    def __str__(self) -> str:
        """The name as in the head line of a report, after "judged against"."""
        if self.kind == "nothing":
            return "nothing but the given files"
        if self.kind == "snapshot":
            return f"snapshot {self.name}"
        return f"the files in {self.name}" if self.kind == "files" else f"cluster {self.name or '(current context)'}"
