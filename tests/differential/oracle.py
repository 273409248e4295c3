"""Asks Kubernetes' own quantity parser, which runs as a co-process of the test control plane's binary."""

from __future__ import annotations

import json
import select
import subprocess
from typing import Any, Self

from tests.apiserver import build

ANSWER_SECONDS = 10.0  # an answer takes microseconds, but the parser works for hours on an exponent of 1e9


class OracleError(RuntimeError):
    """The oracle ended or did not answer in time: a fact about the question, not about a quantity."""


class QuantityOracle:
    """A running `controlplane quantity`; use it as a context manager.

    Raises MissingControlPlaneError on entry where there is no binary and none can be built; the first build takes
    minutes. After an OracleError the next question starts a new process.
    """

    def __init__(self, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._answer_seconds = answer_seconds
        self._command: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._command = [str(build.binary()), "quantity"]
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, text: str) -> dict[str, Any]:
        """What Kubernetes reads in `text`: `{"ok": False, "error": ...}`, or with `ok` true

        `canonical` (the canonical text), `printed` (what String() gives: it keeps "+1"), `value` and `milli` (Value()
        and MilliValue(), meaningless where they leave int64), `exactNano` (the exact amount in units of 1e-9), these
        as texts, and `sign` as -1, 0 or 1. Raises OracleError.
        """
        return self._exchange(text)

    def add(self, a: str, b: str) -> str:
        """The canonical text of the sum. Raises ValueError where either is no quantity, else as `ask`."""
        answer = self._exchange([a, b])
        if not answer["ok"]:
            raise ValueError(f"{a!r} + {b!r}: {answer['error']}")
        total: str = answer["canonical"]
        return total

    def _exchange(self, question: str | list[str]) -> dict[str, Any]:
        process = self._process = self._process or self._start()
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            answered, _, _ = select.select([process.stdout], [], [], self._answer_seconds)
            line = process.stdout.readline() if answered else b""
        except BrokenPipeError:
            line = b""
        except BaseException:
            self._stop()  # a late answer would be taken for that of the next question
            raise
        if not line:
            self._stop()
            raise OracleError(f"no answer to {question!r} within {self._answer_seconds:g} s")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate()  # closes the pipes and waits
