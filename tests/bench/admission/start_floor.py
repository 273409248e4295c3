"""The floor of a start: a process that decides nothing. It lists the same as the reconciler, each kind over its own
connection and page by page, and writes as many statuses over as many connections.

`python -m tests.bench.admission.start_floor KUBECONFIG PATHS COLLECTION` runs one. PATHS, as JSON, are the collections
to list; the status of each object of COLLECTION is written once, in the size in which it is stored. The process prints
the time of its end by the clock of `time.monotonic` and its processor seconds. It loads only the standard library.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import quote, urlsplit

_PAGE = 500
_THREADS = 8
"""The number of connections that the reconciler's writer has for statuses."""
_MERGE = "application/merge-patch+json"

Manifest = dict[str, Any]


def seconds(kubeconfig: Path, paths: Iterable[str], collection: str) -> tuple[float, float]:
    """The seconds from the exec of the process to its last write, and its processor seconds."""
    began = time.monotonic()
    command = [sys.executable, "-m", __name__, str(kubeconfig), json.dumps([*paths]), collection]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    ended, cpu = map(float, done.stdout.split())
    return ended - began, cpu


class _Server:
    """The API server that a kubeconfig names, which is JSON here."""

    def __init__(self, kubeconfig: str) -> None:
        said = json.loads(Path(kubeconfig).read_text())
        cluster = said["clusters"][0]["cluster"]
        self._where = urlsplit(cluster["server"])
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._token = said["users"][0]["user"]["token"]

    def connection(self) -> Callable[..., tuple[int, bytes]]:
        """A function that sends requests (method, path, body) over a new connection."""
        line = http.client.HTTPSConnection(self._where.hostname or "", self._where.port, context=self._tls)
        line.connect()
        line.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": _MERGE}

        def send(method: str, path: str, body: Any = None) -> tuple[int, bytes]:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            return answer.status, answer.read()

        return send


def _list(server: _Server, path: str, found: dict[str, list[Manifest]]) -> None:
    """List all pages of a collection; no object if the kind is not installed."""
    send, items, go_on = server.connection(), list[Manifest](), ""
    while True:
        status, content = send("GET", f"{path}?limit={_PAGE}{f'&continue={quote(go_on)}' if go_on else ''}")
        answer = json.loads(content) if status == 200 else {"metadata": {}, "items": []}
        items += answer["items"]
        go_on = answer["metadata"].get("continue", "")
        if not go_on:
            found[path] = items
            return


def _write(server: _Server, collection: str, open_: SimpleQueue[Manifest], failed: SimpleQueue[str]) -> None:
    send = server.connection()
    while True:
        try:
            manifest = open_.get_nowait()
        except Empty:
            return
        meta = manifest["metadata"]
        base, _, plural = collection.rpartition("/")
        place = f"{base}/namespaces/{meta['namespace']}/{plural}" if "namespace" in meta else collection
        bound = {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}
        body = {"metadata": bound, "status": _changed(manifest["status"])}
        status, answer = send("PATCH", f"{place}/{meta['name']}/status", body)
        if status != 200:
            failed.put(f"{meta['name']}: {status}: {answer[:300]!r}")


def _changed(status: Manifest) -> Manifest:
    """A status of the same length with another content: the API server does not write an equal one."""
    first, *others = status["conditions"]
    return {**status, "conditions": [{**first, "message": first["message"][::-1] + "."}, *others]}


def _together(target: Callable[..., None], arguments: Iterable[tuple[Any, ...]]) -> None:
    threads = [threading.Thread(target=target, args=each) for each in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(kubeconfig: str, paths: str, collection: str) -> int:
    server, found = _Server(kubeconfig), dict[str, list[Manifest]]()
    _together(_list, [(server, path, found) for path in json.loads(paths)])
    open_, failed = SimpleQueue[Manifest](), SimpleQueue[str]()
    for manifest in found[collection]:
        open_.put(manifest)
    _together(_write, [(server, collection, open_, failed)] * min(_THREADS, open_.qsize()))
    if not failed.empty():
        print(failed.get(), file=sys.stderr)
        return 1
    print(time.monotonic(), time.process_time())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
