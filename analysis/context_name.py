"""The name of the state that a change is compared with. `analysis.context` reads it, and takes longer to load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextName:
    """`kind` is nothing, files, snapshot or cluster. `name` is a folder, a file or a kubeconfig context, or empty."""

    kind: str = "nothing"
    name: str = ""

    @property
    def of_cluster(self) -> bool:
        """Whether it is a cluster with its work, as it is now or in a snapshot."""
        return self.kind in ("cluster", "snapshot")

    def __str__(self) -> str:
        """For the head line of a report: judged against ..."""
        if self.kind == "nothing":
            return "nothing but the given files"
        if self.kind == "snapshot":
            return f"snapshot {self.name}"
        return f"the files in {self.name}" if self.kind == "files" else f"cluster {self.name or '(current context)'}"
