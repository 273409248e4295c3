"""A watch: the stream of events in a response."""

import logging
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Literal, NamedTuple, cast

import urllib3

from cluster.decoding import decoded
from cluster.errors import BadAnswer, from_status
from cluster.resource import Manifest
from cluster.unreachable import unreachable

EventKind = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]

# etcd rejects objects above 1.5 MiB, but as JSON they may be several times as long: <, > and & take six bytes each, and
# fields of a few bytes in protobuf take dozens. A peer that sends far more is not an API server.
LINE_LIMIT = 32 * 1024 * 1024
_CHUNK = 64 * 1024
_KINDS = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")

log = logging.getLogger(__name__)


class WatchEvent(NamedTuple):
    """One event of a watch. A bookmark's object has only a resource version."""

    kind: EventKind
    manifest: Manifest

    @property
    def resource_version(self) -> str:
        return str(self.manifest["metadata"]["resourceVersion"])


class Watch:
    """The events of one watch request, in order. Iterate in one thread; any thread may call `interrupt`.

    The iteration ends when the server ends the watch, or after `interrupt`. It raises Gone if the resource version is
    too old, another ApiError if the server reports one, BadAnswer if a line is truncated, too long or not an event, and
    Unreachable if the connection breaks or is silent for too long. `owners`: objects keep their managedFields.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse, host: str, request: str, *, owners: bool = False) -> None:
        self._response = response
        self._host = host
        self._request = request
        self._owners = owners
        self._interrupted = threading.Event()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[WatchEvent]:
        try:
            for line in lines(self._chunks(), LINE_LIMIT):
                if self._interrupted.is_set():
                    return
                yield _event(line, self._request, owners=self._owners)
        except (BadAnswer, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            # After `interrupt`, the reader may raise any of these exceptions. They are not errors then.
            if self._interrupted.is_set():
                return
            if isinstance(error, urllib3.exceptions.HTTPError | OSError):
                raise unreachable(self._host, error) from error
            raise

    def interrupt(self) -> None:
        """Wake the reader and end its iteration; callable from any thread, any number of times."""
        self._interrupted.set()
        try:
            self._response.shutdown()
        except (ValueError, RuntimeError, OSError) as error:
            log.debug("%s had ended already: %s", self._request, error)

    def close(self) -> None:
        """Drop the connection; call it in the reading thread."""
        self._response.close()

    def _chunks(self) -> Iterator[bytes]:
        while chunk := self._response.read1(_CHUNK):
            yield chunk


def lines(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The lines of a byte stream in chunks, without blank lines.

    Raises BadAnswer for a line longer than `limit` bytes and for a last line without a line break.
    """
    rest = bytearray()
    for chunk in chunks:
        *whole, tail = chunk.split(b"\n")
        if whole:
            whole[0] = bytes(rest) + whole[0]
            rest = bytearray()
        for line in whole:
            if len(line) > limit:
                raise BadAnswer(f"a line of the watch is longer than {limit} bytes; no API server sends that")
            if line.strip():
                yield line
        rest += tail
        if len(rest) > limit:
            raise BadAnswer(f"a line of the watch is longer than {limit} bytes; no API server sends that")
    if rest.strip():
        raise BadAnswer("the watch ended in the middle of a line")


def drop_managed_fields(manifest: Manifest) -> Manifest:
    """The object without `metadata.managedFields`, which no rule reads and which is often half of its size."""
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return manifest


def _event(line: bytes, request: str, *, owners: bool) -> WatchEvent:
    try:
        event = decoded(line)
        kind, manifest = event["type"], event["object"]
        if kind == "ERROR":
            raise from_status(manifest if isinstance(manifest, dict) else {}, request=request)
        if kind not in _KINDS or not isinstance(manifest["metadata"]["resourceVersion"], str):
            raise ValueError(f"type {kind!r}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadAnswer(f"{request}: a line is not a watch event: {type(error).__name__}: {error}") from error
    return WatchEvent(cast("EventKind", kind), manifest if owners else drop_managed_fields(manifest))
