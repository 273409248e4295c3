"""Finds the Git checkout of an input by its entry `.git`, which no commit can contain.

Git also accepts a folder with HEAD, objects/ and refs/ as a bare repository. A pull request may add such files, and
with them a configuration that names programs for git to run. Therefore such folders are refused.
"""

from __future__ import annotations

import os
from pathlib import Path

from cli.exits import OutOfReach
from cli.links import enclosing, leads_out


def checkout_of(path: str) -> Path:
    """The root of the checkout that contains this input. The input itself need not exist.

    Raises OutOfReach if there is no checkout, and if a pull request may have redirected git to another repository: by
    a folder that looks like one, by a submodule, or by a link.
    """
    whole = Path(os.path.normpath(Path(path).absolute()))
    place = whole.parent.resolve() / whole.name
    folder = next(
        each for each in (place, *place.parents) if os.path.isdir(each) and not (each == place and each.is_symlink())
    )
    root = enclosing(folder)
    for each in (folder, *folder.parents):
        if _looks_bare(each):
            raise OutOfReach(
                f"--base: {each} looks like a bare repository of Git: HEAD, objects and refs are among its files, and"
                " git would run the programs that they name; remove them"
            )
        if each == root:
            break
    if root is None:
        raise OutOfReach(f"--base: {folder} is not in a Git checkout; name files of a checkout")
    if real := leads_out(whole.parent):
        raise OutOfReach(f"--base: {path} leads out of the checkout through a link, to {real}; name what it leads to")
    outer = enclosing(root.parent)
    if outer is not None and _is_submodule(root):
        raise OutOfReach(
            f"--base: {root} is a submodule of {outer}, and has its own revisions; judge it in a clone of its own"
        )
    return root


def _looks_bare(folder: Path) -> bool:
    """Whether git would accept the folder as a bare repository. With `commondir`, some parts may be elsewhere."""
    parts = (folder / "objects", folder / "refs")
    return os.path.lexists(folder / "HEAD") and (all(map(os.path.lexists, parts)) or (folder / "commondir").exists())


def _is_submodule(root: Path) -> bool:
    """Whether `.git` is a file as in a submodule. The file of a linked worktree leads to a folder with `commondir`."""
    try:
        named = (root / ".git").read_text("utf-8", "surrogateescape").removeprefix("gitdir:").strip()
    except OSError:  # `.git` is a folder
        return False
    return not (root / named / "commondir").exists()
