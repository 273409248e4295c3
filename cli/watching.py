"""The option --watch: the command runs again whenever its inputs in files or a cluster change."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from cli.exits import Misused, OutOfReach
from cli.input.against import Against, reached
from cli.input.documents import expand
from cli.input.login import LOGIN
from cli.input.settings import configuration_file
from cli.output import discard, note
from cluster.errors import ClusterError, Forbidden
from cluster.sources import WatchSource

if TYPE_CHECKING:  # it takes long to load
    from cluster.client import ClusterClient

_LISTS = ("paths", "filenames", "kustomizations", "charts", "values", "each")
_FILES = ("config", "kueue_config", "baseline", "within")
"""The parameters of commands that name inputs."""
_POLL_SECONDS = 0.5
"""Seconds between two checks of the files."""
_SHARE = 20
"""The pause after a check of many files is this many times the duration of the check."""
_SETTLED = 5.0
"""Seconds that the loop waits until changes pause. Then the command runs anyway."""
_LISTED = 10.0
"""Seconds to wait for the first lists. Objects that arrive later count as changes."""
_LIST_POLL_SECONDS = 0.05
_BLIND_SECONDS = 15
"""Seconds between two runs if the user may not list some kinds, since their changes are not seen."""
Look = Mapping[str, tuple[int, ...] | None]


def watchable(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --watch to a command. Use it above the decorators of all other options, which name the inputs to watch."""

    @wraps(command)
    def with_watch(*arguments: Any, watch: bool, **options: Any) -> Any:
        if not watch:
            return command(*arguments, **options)
        if "-" in (*options.get("paths", ()), *options.get("filenames", ())):
            raise Misused("--watch: standard input cannot be watched; name files")
        return _watch(lambda: command(*arguments, **options), options)

    return click.option(
        "--watch", is_flag=True, help="Run again whenever an input or the cluster changes, until Ctrl-C."
    )(with_watch)


def _watch(command: Callable[[], Any], options: Mapping[str, Any]) -> None:
    shown: str | None = None
    with following(_against(options)) as cluster:
        while True:
            before = _seen_state(options, cluster)
            began = time.monotonic()
            text = _output(command, first=shown is None)
            if text != shown:
                _show(text)
            else:
                note("nothing is different")
            shown = text
            _wait(before, lambda: _seen_state(options, cluster), time.monotonic() - began)
            note(f"{datetime.now():%H:%M:%S} run again")  # noqa: DTZ005, for people here


def _wait(before: object, look: Callable[[], object], least: float) -> None:
    """Wait until something changes, and then until changes pause. `least`: the seconds to wait at least."""
    time.sleep(least)
    while (now := _check_and_pause(look)) == before:
        pass
    until = time.monotonic() + _SETTLED
    while time.monotonic() < until and (later := _check_and_pause(look)) != now:
        now = later


def _check_and_pause(look: Callable[[], object]) -> object:
    began = time.monotonic()
    found = look()
    time.sleep(max(_POLL_SECONDS, (time.monotonic() - began) * _SHARE))
    return found


def _seen_state(options: Mapping[str, Any], cluster: ChangeCounter) -> tuple[Look, int]:
    """The state of each input file, and the number of changes in the cluster. Outputs of the command are left out."""
    written = {str(Path(each.file).absolute()) for each in options.get("outputs") or () if each.file}
    found = {file: state for file, state in _states(options) if str(Path(file).absolute()) not in written}
    return found, cluster.count


def _states(options: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    for name in dict.fromkeys(_named(options)):
        for path in expand(name) or [name]:
            yield path, _state(path)
            for folder, inner, files in os.walk(path):
                inner[:] = [each for each in inner if not each.startswith(".")]
                yield from ((file, _state(file)) for each in files if (file := f"{folder}/{each}"))


def _named(options: Mapping[str, Any]) -> Iterator[str]:
    paths = [path for key in _LISTS for path in options.get(key) or ()]
    yield from paths
    yield from (file for key in _FILES if (file := options.get(key)))
    against = _against(options)
    if against.kind in ("files", "snapshot"):
        yield against.name
    if file := configuration_file(options.get("config"), paths):
        yield file


def _against(options: Mapping[str, Any]) -> Against:
    """The context with its login. The login may still be in separate options."""
    against = options.get("against") or Against()
    return reached(against, options) if LOGIN[0] in options else against


def _state(file: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(file)  # noqa: PTH116, a Path for each of many files takes longer than the look
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _output(command: Callable[[], Any], *, first: bool) -> str:
    """The output of a run. An error of the first run is raised; later errors are shown, since a change may fix them."""
    captured = _Captured(sys.stdout)
    try:
        with redirect_stdout(captured):
            command()
    except click.exceptions.Exit:
        pass  # the output has the findings
    except click.ClickException as error:
        if first:
            raise
        error.show()
    return captured.getvalue()


def _show(text: str) -> None:
    """Print the output. If the pipe is closed, end the command."""
    try:
        click.echo(text, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(1)
        click.get_current_context().exit(0)


class _Captured(io.StringIO):
    """Captures output with the encoding and the terminal of `stream`, so that glyphs and colours are chosen for it."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    def isatty(self) -> bool:
        return self._stream.isatty()


class ChangeCounter:
    """Counts changes. With `blind`, the passing of some time counts as a change, too."""

    def __init__(self, *, blind: bool = False) -> None:
        self._count = 0
        self._blind = blind
        self._lock = threading.Lock()

    def add(self) -> None:
        with self._lock:
            self._count += 1

    @property
    def count(self) -> int:
        return self._count + (int(time.monotonic() / _BLIND_SECONDS) if self._blind else 0)


@contextmanager
def following(against: Against) -> Iterator[ChangeCounter]:
    """Count the changes in a cluster until the `with` block ends, except those of Nodes, which change all the time.

    Without a cluster, the count stays 0.

    Raises OutOfReach.
    """
    if against.kind != "cluster":
        yield ChangeCounter()
        return
    from analysis.cluster import read_kinds  # here, since these take long to load
    from cluster.sources import NODES_ONCE
    from cluster.store import Store

    try:
        cluster = against.login.connect()
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error
    with cluster:
        kinds = [each for each in read_kinds() if each is not NODES_ONCE]
        allowed = [each for each in kinds if _may_list(cluster, each)]
        changes = ChangeCounter(blind=len(allowed) < len(kinds))
        if len(allowed) < len(kinds):
            note(f"you may not watch the whole cluster, so the command also runs again every {_BLIND_SECONDS} s")
        store = Store(following=[_counted(source, changes) for source in allowed])
        store.start(cluster)
        try:
            until = time.monotonic() + _LISTED
            while store.lacking() and time.monotonic() < until:
                time.sleep(_LIST_POLL_SECONDS)
            yield changes
        finally:
            store.close()


def _may_list(cluster: ClusterClient, source: WatchSource) -> bool:
    """Whether the user may list these objects. Other errors are left to the watch, which tries again."""
    listed = cluster.list(source.versions[0], 1, namespace=source.namespace, field_selector=source.field_selector)
    try:
        next(listed, None)
    except Forbidden:
        return False
    except ClusterError:
        return True
    return True


def _counted(source: WatchSource, changes: ChangeCounter) -> WatchSource:
    """The source, changed so that it counts each object that arrives and keeps only its name."""

    def count(manifest: Mapping[str, Any]) -> dict[str, Any]:
        changes.add()
        meta = manifest.get("metadata") or {}
        named = {key: meta[key] for key in ("name", "namespace") if key in meta}
        return {"apiVersion": manifest.get("apiVersion"), "kind": manifest.get("kind"), "metadata": named}

    return replace(source, trim=count)
