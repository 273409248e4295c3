"""The what-if processes: one for each login, their maximum, and their timeout."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.what_if.outcome import WhatIfOutcome
from analysis.what_if.state import ProposedChange
from cli.input.settings import settings
from cli.serving.connection import Address, UserConnection
from cli.serving.dashboard import connecting_as_user
from cluster.api.callers import Impersonated
from cluster.errors import NotFound, Unreachable
from dashboard.reading.backend import UserLogin
from dashboard.what_if import processes as module
from dashboard.what_if.child import NoOutcome
from dashboard.what_if.processes import (
    COMMAND,
    KEPT,
    READERS,
    MissingRights,
    Processes,
    ReadingCluster,
    TryAgain,
    Unanswered,
    WhatIfProcess,
)

NOTHING = ProposedChange()
CONFIGURATION = settings(None, ())
_WAITS = 180.0
"""Seconds: these processes give way to all others."""


class Served:
    """An API server that serves these paths, and allows what `allowed` says."""

    def __init__(self, paths: Mapping[str, Any] | None = None, allowed: bool = True) -> None:
        self.paths, self.allowed = paths or {}, allowed

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def served(self, resource: Any) -> bool:
        return resource.root in self.paths

    def get(self, path: str) -> Any:
        if path not in self.paths:
            raise NotFound(404, "NotFound", path)
        return self.paths[path]

    def create(self, _: str, body: Any) -> Any:
        return {**body, "status": {"allowed": self.allowed}}


class Way:
    """A `UserConnection` to it."""

    def __init__(self, served: Served) -> None:
        self.open = lambda: served


class Process:
    def __init__(self, *, reading: bool = False) -> None:
        self.busy = threading.Lock()
        self.reading, self.over, self.ended = reading, False, False

    def ask(self, change: ProposedChange) -> WhatIfOutcome:
        return WhatIfOutcome(change.pasted)

    def end(self) -> None:
        self.ended = True


def processes(made: list[Process], served: Served | None = None, *, reading: bool = False) -> Processes:
    def start(*_: object) -> Process:
        made.append(Process(reading=reading))
        return made[-1]

    return Processes(lambda _: Way(served or Served()), CONFIGURATION, start)  # type: ignore[arg-type, return-value]


def login(number: int) -> UserLogin:
    return UserLogin(f"Bearer {number}")


def test_each_login_has_a_process_of_its_own() -> None:
    made: list[Process] = []
    asked = processes(made)

    assert asked.ask(login(1), ProposedChange(pasted="x")).as_of == "x"
    asked.ask(login(1), NOTHING)
    asked.ask(login(2), NOTHING)
    assert len(made) == 2


def test_the_least_recently_used_process_is_ended_for_a_new_one() -> None:
    made: list[Process] = []
    asked = processes(made)
    for number in range(KEPT):
        asked.ask(login(number), NOTHING)
    asked.ask(login(0), NOTHING)
    asked.ask(login(99), NOTHING)

    assert [each.ended for each in made] == [False, True, *[False] * (KEPT - 1)]
    assert len(asked._kept) == KEPT


def test_a_busy_process_is_not_ended_for_a_new_one() -> None:
    made: list[Process] = []
    asked = processes(made)
    for number in range(KEPT):
        asked.ask(login(number), NOTHING)
    for each in made:
        each.busy.acquire()

    with pytest.raises(TryAgain, match="Ask again"):
        asked.ask(login(99), NOTHING)
    with pytest.raises(TryAgain, match="Your last request"):
        asked.ask(login(0), NOTHING)
    assert not any(each.ended for each in made)


def test_no_process_is_started_with_a_maximum_of_zero() -> None:
    with pytest.raises(Unanswered, match="--what-ifs 0"):
        Processes(lambda _: Way(Served()), CONFIGURATION, pytest.fail, most=0).ask(login(1), NOTHING)  # type: ignore[arg-type, return-value]


def test_the_number_of_processes_that_read_the_cluster_is_limited() -> None:
    made: list[Process] = []
    asked = processes(made, reading=True)
    for number in range(READERS):
        asked.ask(login(number), NOTHING)

    with pytest.raises(TryAgain, match="is being read for 2 other users"):
        asked.ask(login(99), NOTHING)
    asked.ask(login(0), NOTHING)
    assert len(made) == READERS


def test_an_outdated_process_is_ended_and_replaced() -> None:
    made: list[Process] = []
    asked = processes(made)
    asked.ask(login(1), NOTHING)
    made[0].over = True
    asked.ask(login(1), NOTHING)

    assert [each.ended for each in made] == [True, False]


def test_a_removed_right_is_effective_at_once() -> None:
    made: list[Process] = []
    served = Served({"/api/v1": {"resources": [{"name": "namespaces"}, {"name": "limitranges"}]}})
    asked = processes(made, served)
    asked.ask(login(1), NOTHING)
    served.allowed = False

    with pytest.raises(MissingRights) as refused:
        asked.ask(login(1), NOTHING)
    assert refused.value.missing == ("list namespaces",)


def test_the_repr_of_a_connection_does_not_show_its_token() -> None:
    there = UserConnection(Address("https://api", Path("ca.crt")), "Bearer secret", (("Impersonate-User", "jane"),))

    assert "secret" not in repr(there)


CHILD = """
import time, dashboard.what_if.child as child
child.THINKING = 0.2
class Slow:
    def answer(self, change): time.sleep(60)
class Ends:
    def answer(self, change): raise SystemExit(0)
class Counts:
    seen = 0
    def answer(self, change):
        self.seen += 1
        return self.seen
class Large:
    def answer(self, change): return 'x' * 1_000_000
for state in (Slow(), Ends(), Counts(), Large()):
    for _ in range(2):
        print(child.ForkingPickler.loads(child._computed(state, None)), flush=True)
"""


def test_a_simulation_that_takes_too_long_ends_without_a_change_of_state() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, check=True, text=True)

    slow, ends, large = str(NoOutcome(0.2)), str(NoOutcome()), "x" * 1_000_000
    assert done.stdout.splitlines() == [slow, slow, ends, ends, "1", "1", large, large]


def test_a_process_ends_with_its_parent_while_it_reads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = WhatIfProcess(CONFIGURATION, UserConnection(Address(f"http://127.0.0.1:{silent.getsockname()[1]}")))
        connected, _ = silent.accept()
        assert started.reading
        started._questions.close()
        assert started._process.wait(_WAITS) != 0
        started.end()
        connected.close()


def test_an_unreachable_cluster_is_reported_and_its_process_not_reused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        way = UserConnection(Address(f"http://127.0.0.1:{gone.getsockname()[1]}"))
    started = WhatIfProcess(CONFIGURATION, way)
    assert started._answers.poll(_WAITS)
    with pytest.raises(Unreachable, match="ask again"):
        started.ask(NOTHING)

    assert started.over
    started.end()


@pytest.mark.parametrize(
    ("code", "error", "said"), [(0, ReadingCluster, "is being read again"), (1, Unanswered, "Try it")]
)
def test_a_process_that_ends_before_a_request_is_reported(
    code: int, error: type[Unanswered], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0 means that its copy of the cluster is too old."""
    ends = f"import sys; sys.stdin.buffer.read(1); sys.exit({code})"
    monkeypatch.setattr(module, "COMMAND", (sys.executable, "-c", ends))
    started = WhatIfProcess(CONFIGURATION, UserConnection(Address("http://127.0.0.1")))
    started._until = time.monotonic() + 60
    assert started._process.wait(_WAITS) == code

    with pytest.raises(error, match=said) as refused:
        started.ask(NOTHING)
    assert type(refused.value) is error
    assert started.over


def test_a_process_uses_the_token_of_the_user_or_impersonates_the_user() -> None:
    api = Address("https://api")
    by_token = connecting_as_user(api, None)(UserLogin("Bearer jane"))
    by_proxy = connecting_as_user(api, lambda: "Bearer dashboard")(UserLogin(None, Impersonated("jane", ("ml",))))

    assert (by_token.authorization, by_token.headers) == ("Bearer jane", ())
    assert by_proxy.authorization == "Bearer dashboard"
    assert dict(by_proxy.headers) == {"Impersonate-User": "jane", "Impersonate-Group": "ml"}
    assert connecting_as_user(api, lambda: "Bearer dashboard")(UserLogin("Bearer jane")).authorization == "Bearer jane"


def test_a_process_does_not_import_modules_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "dashboard").mkdir()
    (tmp_path / "dashboard" / "__init__.py").write_text("print('theirs'); raise SystemExit(7)")
    done = subprocess.run(COMMAND, input=b"", capture_output=True, cwd=tmp_path, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
