"""Reads the kubeconfig of a worker from its source and checks it. It is refused with a reason if it cannot be used."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cluster.expiry import Expiry, expiry_of
from policies.dialects.kubeconfig import BAD, INSECURE, KEY, MAX_COPIED, PREFIX, Trust, below, content_fault, path_fault
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.model.printing import plain
from policies.text.positions import BadText, position
from policies.text.yaml_values import single

_LARGEST = 1024 * 1024
"""The most bytes of a kubeconfig, which is the largest size of a Secret."""


@dataclass(frozen=True, slots=True)
class AllowedSources:
    """Which sources of kubeconfigs may be used.

    `prefix`: the folder in which files must be; None for any (Kueue's gate MultiKueueKubeConfigPathValidation is off).
    `trust`: what a kubeconfig may contain.
    """

    prefix: str | None = PREFIX
    trust: Trust = field(default_factory=Trust)


@dataclass(frozen=True, slots=True)
class WorkerLogin:
    """A kubeconfig that may be used. Kubeconfigs with different `content` are different.

    `content`: its text.
    `config`: its parsed form.
    `expiry`: when its credentials expire; None if that is not known.
    `link_local`: see Trust.
    """

    content: str = field(repr=False)
    config: Mapping[str, Any] = field(repr=False, compare=False, hash=False)
    expiry: Expiry | None = None
    link_local: bool = False


@dataclass(frozen=True, slots=True)
class RefusedKubeconfig:
    """Why a worker has no usable kubeconfig.

    `reason`, `message`: those of the condition Active.
    `absent`: whether the source does not exist.
    `secret`: the `namespace/name` of a Secret that does not exist; empty for other sources.
    """

    reason: str
    message: str
    absent: bool = False
    secret: str = ""


def read_login(content: str, allowed: AllowedSources, *, allow_exec: bool = False) -> WorkerLogin | RefusedKubeconfig:
    """Check a kubeconfig. Messages never show its content, because the file may be another secret by mistake."""
    if len(content) > _LARGEST:
        return RefusedKubeconfig(INSECURE, f"failed to parse kubeconfig: it has more than {_LARGEST} bytes")
    try:
        config = single(content, MAX_COPIED)
    except BadText as bad:
        where = position(content, bad.offset).line
        return RefusedKubeconfig(
            INSECURE, f"failed to parse kubeconfig: it is not a single YAML document (line {where})"
        )
    if not isinstance(config, Mapping):
        return RefusedKubeconfig(INSECURE, "failed to parse kubeconfig: it is not a mapping")
    fault = content_fault(config, replace(allowed.trust, exec=allow_exec))
    if fault is not None:
        return RefusedKubeconfig(INSECURE, plain(fault))
    return WorkerLogin(content, config, expiry_of(_user(config)), allowed.trust.link_local)


def read_secret(
    name: str, secret: Manifest | None, allowed: AllowedSources, namespace: str = ""
) -> WorkerLogin | RefusedKubeconfig:
    """Read the kubeconfig from a Secret; None if it does not exist. `namespace`: the namespace of the Secret."""
    if secret is None:
        return RefusedKubeconfig(BAD, f'Secret "{name}" not found', absent=True, secret=f"{namespace}/{name}")
    encoded = text(mapping(secret.get("data")).get(KEY))
    if encoded is None:
        return RefusedKubeconfig(BAD, f'key "{KEY}" not found in secret "{name}"')
    try:
        return read_login(base64.b64decode(encoded, validate=True).decode(), allowed)
    except (binascii.Error, UnicodeDecodeError):
        return RefusedKubeconfig(INSECURE, "failed to parse kubeconfig: it is not text")


def read_file(
    location: str, allowed: AllowedSources, before: WorkerLogin | RefusedKubeconfig | None = None
) -> WorkerLogin | RefusedKubeconfig:
    """Read the kubeconfig from a file. A symbolic link must lead to a file in the allowed folder.

    `before`: the result of the last read, which is returned again if the file has not changed. To parse takes long.
    """
    prefix = allowed.prefix
    fault = path_fault(location, prefix) if prefix is not None else None
    if fault is not None:
        return RefusedKubeconfig(BAD, fault)
    try:
        resolved = os.path.realpath(location, strict=True)
    except OSError as error:
        if prefix is None:
            return _unreadable("open", location, error)
        return _unreadable("cannot resolve kubeconfig path symlinks: lstat", error.filename, error)
    if prefix is not None and not below(resolved, os.path.realpath(prefix)):
        return RefusedKubeconfig(
            BAD, f'kubeconfig path is not under the allowed prefix: "{resolved}" is not under "{prefix}"'
        )
    try:
        content = _content(Path(resolved))
    except OSError as error:
        return _unreadable("open", resolved, error)
    except UnicodeDecodeError:
        return RefusedKubeconfig(INSECURE, "failed to parse kubeconfig: it is not text")
    if isinstance(before, WorkerLogin) and before.content == content:
        return before
    return read_login(content, allowed)


def _unreadable(step: str, path: str, error: OSError) -> RefusedKubeconfig:
    """An error in the words of Go, which Kueue uses: descriptions of errors begin with a lower-case letter."""
    said = error.strerror or type(error).__name__
    message = f"{step} {path}: {said[:1].lower()}{said[1:]}"
    return RefusedKubeconfig(BAD, message, absent=isinstance(error, FileNotFoundError))


def _content(path: Path) -> str:
    """The content of a regular file. Reading a pipe might never end. Raises OSError, UnicodeDecodeError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is not a regular file")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(0, f"it has more than {_LARGEST} bytes")
    return content.decode()


def _user(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The user of the current context of the kubeconfig."""
    context = _entry(config, "contexts", config.get("current-context"), "context")
    return _entry(config, "users", context.get("user"), "user")


def _entry(config: Mapping[str, Any], many: str, name: object, one: str) -> Mapping[str, Any]:
    entries = map(mapping, listing(config.get(many)))
    return next((mapping(entry.get(one)) for entry in entries if entry.get("name") == name), {})
