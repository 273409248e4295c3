"""Who gets a process, how many there are, and what becomes of one that thinks too long."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.serving.connection import Address, UserConnection
from cli.serving.dashboard import as_someone
from cli.what_if.processes import COMMAND, KEPT, READERS, Processes
from cluster.api.callers import Impersonated
from cluster.errors import NotFound
from dashboard.reading.backend import UserLogin
from dashboard.what_if.port import Later, MissingRights, Unanswered


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

    def ask(self, sources: Mapping[str, str]) -> dict[str, Any]:
        return dict(sources)

    def end(self) -> None:
        self.ended = True


def processes(made: list[Process], served: Served | None = None, *, reading: bool = False) -> Processes:
    def start(_: object) -> Process:
        made.append(Process(reading=reading))
        return made[-1]

    return Processes(lambda _: Way(served or Served()), start)  # type: ignore[arg-type, return-value]


def login(number: int) -> UserLogin:
    return UserLogin(f"Bearer {number}")


def test_each_login_has_a_process_of_its_own() -> None:
    made: list[Process] = []
    asked = processes(made)

    assert asked.ask(login(1), {"pasted": "x"}) == {"pasted": "x"}
    asked.ask(login(1), {})
    asked.ask(login(2), {})
    assert len(made) == 2


def test_the_one_that_was_asked_longest_ago_makes_room() -> None:
    made: list[Process] = []
    asked = processes(made)
    for number in range(KEPT):
        asked.ask(login(number), {})
    asked.ask(login(0), {})
    asked.ask(login(99), {})

    assert [each.ended for each in made] == [False, True, *[False] * (KEPT - 1)]
    assert len(asked._kept) == KEPT


def test_who_is_being_answered_makes_no_room() -> None:
    made: list[Process] = []
    asked = processes(made)
    for number in range(KEPT):
        asked.ask(login(number), {})
    for each in made:
        each.busy.acquire()

    with pytest.raises(Later, match="Ask again"):
        asked.ask(login(99), {})
    with pytest.raises(Later, match="Your last question"):
        asked.ask(login(0), {})
    assert not any(each.ended for each in made)


def test_nothing_is_started_where_nobody_may_try_out_changes() -> None:
    with pytest.raises(Unanswered, match="--what-ifs 0"):
        Processes(lambda _: Way(Served()), pytest.fail, most=0).ask(login(1), {})  # type: ignore[arg-type, return-value]


def test_few_read_at_once() -> None:
    made: list[Process] = []
    asked = processes(made, reading=True)
    for number in range(READERS):
        asked.ask(login(number), {})

    with pytest.raises(Later, match="have the cluster read"):
        asked.ask(login(99), {})
    asked.ask(login(0), {})
    assert len(made) == READERS


def test_what_is_too_old_is_ended_and_read_anew() -> None:
    made: list[Process] = []
    asked = processes(made)
    asked.ask(login(1), {})
    made[0].over = True
    asked.ask(login(1), {})

    assert [each.ended for each in made] == [True, False]


def test_a_right_that_is_taken_away_ends_at_once() -> None:
    made: list[Process] = []
    served = Served({"/api/v1": {"resources": [{"name": "namespaces"}, {"name": "limitranges"}]}})
    asked = processes(made, served)
    asked.ask(login(1), {})
    served.allowed = False

    with pytest.raises(MissingRights) as refused:
        asked.ask(login(1), {})
    assert refused.value.missing == ("list namespaces",)


def test_the_way_to_the_api_server_crosses_to_another_process_and_is_not_shown() -> None:
    there = UserConnection(Address("https://api", Path("ca.crt")), "Bearer secret", (("Impersonate-User", "jane"),))

    assert UserConnection.of_json(json.loads(json.dumps(there.as_json()))) == there
    assert "secret" not in repr(there)


CHILD = """
import time, cli.what_if.child as child
child.THINKING = 0.2
class State:
    def answer(self, sources):
        {body}
for _ in range(2):
    print(child._asked(State(), {{}}).decode(), end="", flush=True)
"""


def asked_in_a_child(body: str) -> list[Any]:
    done = subprocess.run([sys.executable, "-c", CHILD.format(body=body)], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_question_that_takes_too_long_ends_and_the_state_is_as_before() -> None:
    assert asked_in_a_child("time.sleep(60)") == [{"late": 0.2}] * 2
    assert asked_in_a_child("raise SystemExit(0)") == [{"failed": True}] * 2
    assert asked_in_a_child("self.seen = getattr(self, 'seen', 0) + 1; return {'n': self.seen}") == [{"n": 1}] * 2
    assert asked_in_a_child("return {'n': 'x' * 1_000_000}")[1] == {"n": "x" * 1_000_000}


def test_a_process_ends_with_who_has_started_it_while_it_reads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        way = UserConnection(Address(f"http://127.0.0.1:{silent.getsockname()[1]}"))
        with subprocess.Popen(COMMAND, stdin=subprocess.PIPE) as child:
            assert child.stdin is not None
            child.stdin.write(json.dumps(way.as_json()).encode() + b"\n")
            child.stdin.flush()
            connected, _ = silent.accept()
            child.stdin.close()
            assert child.wait(timeout=20) != 0
            connected.close()


def test_a_person_is_asked_for_with_their_own_token_or_in_their_name_and_never_otherwise() -> None:
    api = Address("https://api")
    by_token = as_someone(api, None)(UserLogin("Bearer jane"))
    by_proxy = as_someone(api, lambda: "Bearer dashboard")(UserLogin(None, Impersonated("jane", ("ml",))))

    assert (by_token.authorization, by_token.headers) == ("Bearer jane", ())
    assert by_proxy.authorization == "Bearer dashboard"
    assert dict(by_proxy.headers) == {"Impersonate-User": "jane", "Impersonate-Group": "ml"}
    assert as_someone(api, lambda: "Bearer dashboard")(UserLogin("Bearer jane")).authorization == "Bearer jane"


def test_a_process_is_ours_whatever_the_folder_has_where_the_dashboard_was_started(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").write_text("print('theirs'); raise SystemExit(7)")
    done = subprocess.run(COMMAND, input=b"", capture_output=True, cwd=tmp_path, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
