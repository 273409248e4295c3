"""The console scripts `quotree` and `kubectl-quotree`. Nothing heavy is imported here: `--version` answers at once."""

from __future__ import annotations

import sys

from cli.version import VERSION


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"quotree {VERSION}")
        return
    from cli.group import quotree

    quotree.main(prog_name=_called(sys.argv[0]))


def _called(path: str) -> str:
    """What the user typed: kubectl runs its plug-in `kubectl-quotree` for `kubectl quotree`."""
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    return "kubectl quotree" if name in ("kubectl-quotree", "kubectl_quotree") else "quotree"


if __name__ == "__main__":
    main()
