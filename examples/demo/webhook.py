"""The webhook as a separate process on loopback, and recorded requests to it."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
import time
from http.client import HTTPSConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

_PATHS = {"kueue.x-k8s.io": "kueue", "scheduling.volcano.sh": "volcano", "batch.volcano.sh": "volcano"}
_START = 30.0
"""Seconds that the server may take to start; it takes one."""
_STOP = 15.0
"""Seconds that it may take to stop before it is killed."""


class NotServed(Exception):
    """The webhook did not start, stopped, or gave no decision."""


class Webhook:
    """Serves from __enter__ to __exit__, which leaves neither process nor file behind."""

    def __init__(self, organisation: Path):
        self._organisation = organisation

    def __enter__(self) -> Webhook:
        self._folder = TemporaryDirectory(prefix="quotree-")
        self._log = Path(self._folder.name, "log")
        address = Path(self._folder.name, "address.json")
        command = [sys.executable, "-m", "cli.main", "serve", "webhook", "--against", f"files:{self._organisation}"]
        command += ["--certs", str(self.authority.parent), "--port", "0", "--metrics-port", "0", "--drain", "0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603, ourselves
                [*command, "--address-file", str(address)], stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._await(address)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def authority(self) -> Path:
        return Path(self._folder.name, "certs", "ca.crt")

    def post(self, path: str, body: bytes) -> dict[str, Any]:
        """The response of the AdmissionReview."""
        parts = urlsplit(self.url)
        trust = ssl.create_default_context(cafile=str(self.authority))
        connection = HTTPSConnection(parts.hostname or "", parts.port, context=trust, timeout=_START)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise NotServed(f"{path}: HTTP {answer.status}: {text.decode(errors='replace').strip()}")
        response = json.loads(text)["response"]
        assert isinstance(response, dict)
        return response

    def curl(self, reviews: Path) -> str:
        """A curl command to try."""
        review = min(reviews.glob("refused-*.json"))
        path = path_of(json.loads(review.read_text()))
        return (
            f"    curl --cacert {self.authority} -H 'Content-Type: application/json' \\\n"
            f"        --data @{review} {self.url}{path}"
        )

    def wait(self) -> None:
        """Wait until the server ends, which it does on its own only after an internal error."""
        code = self._process.wait()
        raise NotServed(f"the webhook ended with code {code}:\n{self._log.read_text()}")

    def _await(self, address: Path) -> None:
        deadline = time.monotonic() + _START
        while not address.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NotServed(f"the webhook did not start:\n{self._log.read_text()}")
            time.sleep(0.05)
        self.url = str(json.loads(address.read_text())["webhook"])

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def play(webhook: Webhook, reviews: Path) -> list[str]:
    """Post each recorded review and print the answer; returns the answers that the file's name contradicts."""
    surprises = []
    for file in sorted(reviews.glob("*.json")):
        body = file.read_bytes()
        review = json.loads(body)
        response = webhook.post(path_of(review, file.name.startswith("patched")), body)
        verdict = verdict_of(response)
        print(f"{file.name}: {_request(review)}\n    {verdict}{_words(response)}")
        expected = file.name.partition("-")[0]
        if verdict != expected and (expected, verdict) != ("allowed", "warned"):
            surprises.append(f"{file.name}: {verdict}")
    return surprises


def path_of(review: dict[str, Any], mutating: bool = False) -> str:
    """The endpoint that the manifests register for such a request."""
    kind = review["request"]["kind"]
    system = "yunikorn" if kind["kind"] == "Namespace" else _PATHS.get(kind["group"], "volcano")
    return f"/v1/{'mutate' if mutating else 'validate'}/{system}"


def verdict_of(response: dict[str, Any]) -> str:
    """refused, patched, warned or allowed: the first word in the names of the recorded reviews."""
    if not response["allowed"]:
        return "refused"
    return "patched" if "patch" in response else "warned" if response.get("warnings") else "allowed"


def _request(review: dict[str, Any]) -> str:
    request = review["request"]
    name = "/".join(filter(None, (request.get("namespace"), request.get("name"))))
    return f"{request['operation']} {request['kind']['kind']} {name}"


def _words(response: dict[str, Any]) -> str:
    lines = [response["status"]["message"]] if not response["allowed"] else []
    lines += [f"warning: {warning}" for warning in response.get("warnings", [])]
    lines += [base64.b64decode(response["patch"]).decode()] if "patch" in response else []
    return "".join(f"\n    {line}" for text in lines for line in text.splitlines())
