"""The certificate bundle in a folder, updated atomically.

    tls.crt -> current/tls.crt      the names that others use; they never change
    current -> .bundle-x7f3         switched atomically: readers see all old files or all new ones
    .bundle-x7f3/                   ca.crt tls.crt tls.key, and ca.key if certificates are signed here

The order is: write and flush the new folder, add missing names, switch `current`, remove unused names and folders. A
process that is killed between two steps leaves nothing half done. A reader that opens `tls.crt` before the switch and
`tls.key` after it has a pair that does not match; it must notice that and read again, as certs.tls does. The previous
folder stays for readers that are still following the old link.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from certs.pki import BadCertificate
from certs.rotate import Bundle, Lifetimes, plan
from certs.secret import KEYS, from_data, to_data

_CURRENT = "current"
_PREFIX = ".bundle-"


def ensure(folder: Path, names: Sequence[str], now: datetime, lifetimes: Lifetimes | None = None) -> Bundle:
    """The bundle in `folder`, created or renewed if necessary. It is for use without a cluster.

    Raises BadCertificate if the folder has foreign files, which are not overwritten; otherwise OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):  # from reading to writing, so that processes that start together use the same bundle
        stored = read(folder)
        bundle = plan(stored, names, now, lifetimes)
        if bundle != stored:
            _put(bundle, folder, KEYS)
    return bundle


def read(folder: Path) -> Bundle | None:
    """The bundle in a folder; None if the folder has none. Raises BadCertificate, OSError."""
    current = folder / _CURRENT
    # Resolve the link once, so that all files are of one bundle even during a switch.
    source = current.resolve() if current.is_symlink() else folder
    try:
        return from_data({key: (source / key).read_bytes() for key in KEYS if (source / key).exists()})
    except BadCertificate as error:
        cure = "name another folder, or delete these files to have new ones created"
        raise BadCertificate(f"{folder}: not a certificate bundle of quotree: {error}; {cure}") from error


def write(bundle: Bundle, folder: Path, *, signing_key: bool) -> None:
    """Write a bundle. Only this user can read the keys. `signing_key`: whether to write `ca.key`.

    Raises BadCertificate if one of the names is a file that this function did not create.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _put(bundle, folder, [key for key in KEYS if signing_key or key != "ca.key"])


def _put(bundle: Bundle, folder: Path, keys: Sequence[str]) -> None:
    _refuse_foreign_files(folder)
    before = _target(folder / _CURRENT)
    data = to_data(bundle)
    new = _write_folder(folder, {key: data[key] for key in keys})
    for key in keys:
        if not (folder / key).is_symlink():
            (folder / key).symlink_to(_link_to(key))
    _switch(folder / _CURRENT, new)
    for key in set(KEYS).difference(keys):
        (folder / key).unlink(missing_ok=True)
    _tidy(folder, keep={before, new})


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that one thread of one process writes at a time."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _refuse_foreign_files(folder: Path) -> None:
    ours = {key: _target(folder / key) == _link_to(key) for key in KEYS}
    ours[_CURRENT] = _target(folder / _CURRENT).startswith(_PREFIX)
    for name, is_ours in ours.items():
        if os.path.lexists(folder / name) and not is_ours:
            raise BadCertificate(f"{folder / name} exists and is not from quotree; move it or name another folder")


def _link_to(key: str) -> str:
    return f"{_CURRENT}/{key}"


def _target(link: Path) -> str:
    return str(link.readlink()) if link.is_symlink() else ""


def _write_folder(folder: Path, data: dict[str, bytes]) -> str:
    new = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
    for key, value in data.items():
        mode = 0o600 if key.endswith(".key") else 0o644
        with os.fdopen(os.open(new / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
    return new.name


def _switch(link: Path, target: str) -> None:
    """Make `link` point to `target`, atomically."""
    temporary = link.with_name(f"{target}.link")
    temporary.symlink_to(target)
    temporary.replace(link)


def _tidy(folder: Path, keep: set[str]) -> None:
    for path in folder.glob(f"{_PREFIX}*"):
        if path.is_symlink():
            path.unlink()  # left by a process that was killed before its switch
        elif path.name not in keep:
            shutil.rmtree(path)
