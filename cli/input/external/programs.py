"""Runs programs of the user (git, kustomize, helm) without a shell, and limits their time and output."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS = 60.0
"""The timeout of one run in seconds. Rendering takes a second or two; only a download that hangs takes longer."""
MAX_OUTPUT = 512 * 2**20
"""The maximum size of the output in bytes. One file of manifests may have 64 MiB; a revision may have many files."""
_MAX_ERRORS = 2000  # characters of standard error that are shown
_LONGEST_CHARACTER = 4  # bytes in UTF-8


class ProgramFailed(Exception):
    """The program ended with an error, took too long or wrote too much. The message says which."""


def find(*names: str) -> str | None:
    """The path of the first of these programs in an absolute folder of the PATH.

    Relative entries are ignored, and so is the default of Windows: they mean the working directory, where a pull
    request may have added files.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    found = (shutil.which(name, path=path) for name in names) if path else ()
    return next((each for each in found if each is not None and Path(each).is_absolute()), None)


def run(
    command: Sequence[str],
    folder: str | Path | None = None,
    *,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    most: int = MAX_OUTPUT,
) -> bytes:
    """The standard output of the command. Raises ProgramFailed.

    The command has no terminal, so that it cannot ask for a password. Its child processes are ended with it.
    `environment`: by default that of this process.
    """
    variables = {**(os.environ if environment is None else environment), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    with tempfile.TemporaryFile() as stdin_file, tempfile.TemporaryFile() as errors:
        stdin_file.write(stdin)
        stdin_file.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603, a list of arguments and no shell
                command,
                cwd=folder,
                env=variables,
                stdin=stdin_file,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: an argument that no program can have
            raise ProgramFailed(f"{command[0]} cannot be run: {getattr(error, 'strerror', None) or error}") from error
        output = _output(process, seconds, most)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LONGEST_CHARACTER * _MAX_ERRORS))
        text = errors.read().decode("utf-8", "replace")
    if process.returncode:
        raise ProgramFailed(_shortened(text) or f"{command[0]} ended with exit code {process.returncode}")
    return output


def _output(process: subprocess.Popen[bytes], seconds: float, most: int) -> bytes:
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        _end(process)

    timer = threading.Timer(seconds, expire)
    timer.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            output = stream.read(most + 1)
        if len(output) > most:
            _end(process)
        process.wait()
    except BaseException:
        _end(process)
        process.wait()
        raise
    finally:
        timer.cancel()
    if expired.is_set():
        raise ProgramFailed(f"took longer than {seconds:.0f} s")
    if len(output) > most:
        raise ProgramFailed(f"wrote more than {most // 2**20} MiB")
    return output


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and its process group. Windows has no groups, so only the process ends."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _shortened(text: str) -> str:
    """The end of the text, where programs report the error."""
    stripped = text.strip()
    return stripped if len(stripped) <= _MAX_ERRORS else f"... {stripped[-_MAX_ERRORS:]}"
