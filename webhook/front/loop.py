"""One thread serves all connections: it accepts, reads, answers short requests, and gives the others to threads.

A silent or slow client therefore costs a socket and some memory, never a thread. The loop never waits for a client,
every state has a deadline, and at the limit of connections the least important one is closed.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from wsgiref.types import WSGIApplication

from webhook.front.connection import ClientConnection, ConnectionState, least, slowest
from webhook.front.gate import ClientGate
from webhook.front.heads import Heads
from webhook.front.reading import RequestReader, RequestRefused, WholeRequest
from webhook.front.response import DeferredResponse, HttpResponse, call_app, error_response, response_or_error
from webhook.front.threads import Threads
from webhook.settings import WebhookSettings

log = logging.getLogger(__name__)

_TURN = 0.25
"""Seconds between two checks of the deadlines."""
_ACCEPTS = 64
_READS = 16
"""The most reads of one connection in a turn, so that a busy one does not delay the others."""
_ENDING = 2.0
"""Seconds in which a client can close an ending connection, or send a last request while the server shuts down."""
_PAUSE = 0.1
"""Seconds in which no client is accepted after the process has run out of file descriptors."""
_NO_DESCRIPTOR = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Front:
    """Serves connections. Only one thread may call its methods.

    `listeners`: the sockets that accept clients.
    `tls`: returns the TLS context for a new connection.
    `app`: answers the requests that `at_once` leaves to it.
    `at_once`: returns the response, or one that a worker thread has to compute; None if the app must answer.
    `gate`: decides which clients are served.
    `limit`: returns the longest body of a path, in bytes.
    `ending`: returns whether each response must close its connection.
    `turned_away`: is called with the reason for each refused connection or request.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        tls: Callable[[], ssl.SSLContext],
        app: WSGIApplication,
        at_once: Callable[[WholeRequest], HttpResponse | DeferredResponse | None],
        settings: WebhookSettings,
        *,
        gate: ClientGate,
        limit: Callable[[str], int],
        ending: Callable[[], bool],
        turned_away: Callable[[str], None],
    ) -> None:
        self._tls, self._app, self._at_once, self._settings = tls, app, at_once, settings
        self._gate, self._limit, self._ending, self._turned_away = gate, limit, ending, turned_away
        self._listeners = list(listeners)
        self._connections, self._heads = set[ClientConnection](), Heads()
        self._held, self._looked = 0, 0.0
        self._paused_until, self._accepting = 0.0, False
        self._finished: deque[ClientConnection] = deque()
        self._threads = Threads(settings.threads)
        self._woken, self.waker = os.pipe()
        """Any byte written to `waker` begins a turn."""
        self._selector = selectors.DefaultSelector()
        for end in (self._woken, self.waker):
            os.set_blocking(end, False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        for listener in self._listeners:
            listener.setblocking(False)
        self._accept_again()

    # -- the loop

    def turn(self) -> None:
        """Handle the pending events. Waits a quarter of a second if there are none."""
        ready = [key for key, _ in self._selector.select(_TURN)]
        if any(key.fileobj == self._woken for key in ready):
            os.read(self._woken, 4096)  # before `_finished`, so that a connection added later wakes the loop again
        for _ in range(len(self._finished)):  # only the present ones, so that other events are handled, too
            self._try(self._after_work, self._finished.popleft())
        for key in ready:
            if isinstance(key.data, ClientConnection) and key.data in self._connections:
                self._try(self._go_on, key.data)
        for key in ready:
            if isinstance(key.data, socket.socket):
                self._accept(key.data)
        self._look_at_clock()

    def _try(self, step: Callable[[ClientConnection], None], connection: ClientConnection) -> None:
        try:
            step(connection)
        except ssl.SSLWantReadError:
            self._watch(connection, selectors.EVENT_READ)
        except ssl.SSLWantWriteError:
            self._watch(connection, selectors.EVENT_WRITE)
        except BlockingIOError:
            pass
        except (OSError, ValueError):  # the client is gone, does not speak TLS, or has another authority's certificate
            if connection.state is ConnectionState.HANDSHAKE:
                self._turned_away("bad-handshake")
            self._drop(connection)
        except Exception:  # an error in one connection must not end the others
            log.exception("internal error in serving a connection")
            self._drop(connection)

    def stop_accepting(self) -> None:
        """Accept the clients that wait already, and no later ones. Idle connections may still send a request."""
        for listener in self._listeners:
            while self._accept_one(listener):
                pass
        self._stop_watching_listeners()
        for listener in self._listeners:
            listener.close()
        self._listeners.clear()
        soon = time.monotonic() + _ENDING
        for connection in self._connections:
            if connection.state is ConnectionState.IDLE:
                connection.deadline = min(connection.deadline, soon)

    @property
    def busy(self) -> bool:
        return bool(self._connections)

    def close(self) -> None:
        for connection in list(self._connections):
            self._drop(connection)
        self._threads.close()
        self._selector.close()
        os.close(self._woken)

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        if now - self._looked < _TURN:
            return
        self._looked = now
        if 0.0 < self._paused_until <= now:
            self._accept_again()
        for connection in [each for each in self._connections if each.deadline <= now]:
            self._try(self._overdue, connection)

    def _overdue(self, connection: ClientConnection) -> None:
        if connection.state is ConnectionState.READING:
            self._turned_away("slow-request")
            self._refuse(connection, RequestRefused("408 Request Timeout", "the request took too long to arrive"))
            return
        if connection.state is ConnectionState.HANDSHAKE:
            self._turned_away("slow-handshake")
        if connection.state is ConnectionState.WRITING:
            self._turned_away("slow-reader")
        self._drop(connection)

    # -- new connections

    def _accept_again(self) -> None:
        self._paused_until = 0.0
        self._accepting = True
        for listener in self._listeners:
            self._selector.register(listener, selectors.EVENT_READ, listener)

    def _stop_watching_listeners(self) -> None:
        if self._accepting:
            self._accepting = False
            for listener in self._listeners:
                self._selector.unregister(listener)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTS):
            if not self._accept_one(listener):
                return

    def _accept_one(self, listener: socket.socket) -> bool:
        """Accept one connection. Returns False if no client is waiting, or none can be accepted."""
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno in _NO_DESCRIPTOR:
                return self._make_room() or self._pause()
            return error.errno == errno.ECONNABORTED
        if len(self._connections) >= self._settings.connections and not self._make_room():
            self._turned_away("crowded")
            sock.close()
            return True
        now = time.monotonic()
        connection = ClientConnection(sock, address[0], now, now + self._settings.handshake_seconds)
        self._connections.add(connection)
        self._watch(connection, selectors.EVENT_READ)
        return True

    def _pause(self) -> bool:
        """Accept no clients for a moment, since each waiting client would start another turn at once. Returns False."""
        self._paused_until = time.monotonic() + _PAUSE
        self._stop_watching_listeners()
        return False

    def _make_room(self) -> bool:
        found = least(self._connections)
        if found is None:
            return False
        if not (found.served and found.state in (ConnectionState.IDLE, ConnectionState.ENDING)):
            self._turned_away("crowded")
        self._drop(found)
        return True

    # -- events of connections

    def _go_on(self, connection: ClientConnection) -> None:
        """Handle an event: the connection can be read or written."""
        match connection.state:
            case ConnectionState.IDLE | ConnectionState.READING:
                self._read(connection)
            case ConnectionState.HANDSHAKE:
                self._shake_hands(connection)
            case ConnectionState.WRITING:
                self._write(connection)
            case ConnectionState.ENDING:
                self._discard(connection)
            case ConnectionState.WORKING:
                self._watch(connection, 0)  # until the answer: the client is gone, or sends more than one request

    def _shake_hands(self, connection: ClientConnection) -> None:
        connection.secure(self._tls())
        connection.shake_hands()
        refusal = self._gate.refusal(connection.certificate)
        connection.reader = RequestReader(
            partial(self._limit_for, refusal), partial(self._reserve, connection), self._heads
        )
        self._rest(connection)

    def _limit_for(self, refusal: str, path: str) -> int:
        if refusal and path not in self._gate.open_paths:
            raise RequestRefused("403 Forbidden", refusal)
        return self._limit(path)

    def _rest(self, connection: ClientConnection) -> None:
        now = time.monotonic()
        connection.state = ConnectionState.IDLE
        connection.since, connection.deadline = now, now + self._settings.keepalive_seconds
        if not self._listeners:
            connection.deadline = now + _ENDING
        self._watch(connection, selectors.EVENT_READ)

    def _read(self, connection: ClientConnection) -> None:
        for _ in range(_READS):
            data = connection.receive()
            if not data:
                self._drop(connection)
                return
            self._take(connection, data)
            if connection.state is not ConnectionState.READING:
                return

    def _take(self, connection: ClientConnection, data: bytes) -> None:
        if connection.state is ConnectionState.IDLE:
            now = time.monotonic()
            connection.state = ConnectionState.READING
            connection.since, connection.deadline = now, now + self._settings.request_seconds
        reader = connection.reader
        try:
            reader.feed(data)
        except RequestRefused as refused:
            self._turned_away(refused.reason)
            self._refuse(connection, refused)
            return
        if reader.complete:
            self._hand_over(connection, reader.take())
        elif reader.awaits_continue:
            reader.awaits_continue = False
            connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            try:
                connection.send()
            except OSError:  # the client does not even read these few bytes
                self._drop(connection)

    def _reserve(self, connection: ClientConnection, size: int) -> bool:
        while self._held + size > self._settings.bytes_in_flight:
            found = slowest(self._connections, time.monotonic())
            if found is None or found is connection:
                return False
            self._turned_away("slow-request")
            self._drop(found)
        self._held += size
        connection.reserved += size
        return True

    def _release(self, connection: ClientConnection) -> None:
        self._held -= connection.reserved
        connection.reserved = 0

    # -- answers

    def _hand_over(self, connection: ClientConnection, request: WholeRequest) -> None:
        connection.state, connection.served = ConnectionState.WORKING, True
        connection.deadline = float("inf")
        connection.close_after = not request.keep
        request = request._replace(gone=connection.gone)
        found = self._at_once(request)
        if not isinstance(found, HttpResponse):
            environ = request.environ(connection.peer, ("", self._settings.port))
            deferred = found or DeferredResponse(partial(call_app, self._app, environ))
            self._defer(connection, deferred, request)
            return
        self._send(connection, found)
        if connection.reader.has_rest:  # the next request waits for the next turn
            self._finished.append(connection)
            self.wake()
        else:
            self._after_work(connection)

    def _defer(self, connection: ClientConnection, deferred: DeferredResponse, request: WholeRequest) -> None:
        work = partial(self._work, connection, deferred, request)
        self._threads.submit(len(request.body), work, deferred.author)

    def _work(self, connection: ClientConnection, deferred: DeferredResponse, request: WholeRequest) -> None:
        """Answer a request in a worker thread, which owns the connection until it is in `_finished`."""
        connection.failed = connection.gone()  # while the request waited for a thread
        found = None if connection.failed else response_or_error(deferred.compute, request.target)
        if isinstance(found, DeferredResponse):
            self._defer(connection, found, request)
            return
        try:
            if found is not None:
                self._send(connection, found)
        finally:
            self._finished.append(connection)
            self.wake()

    def _send(self, connection: ClientConnection, response: HttpResponse) -> None:
        """Send as much as can be sent at once. The loop sends the rest."""
        connection.close_after = connection.close_after or response.closes_connection or self._ending()
        try:
            connection.write(response.to_bytes(close=connection.close_after))
            connection.send()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            pass
        except (OSError, ValueError):
            connection.failed = True

    def wake(self) -> None:
        with contextlib.suppress(OSError):  # the pipe is full, so the loop is awake; or it is closed
            os.write(self.waker, b"\0")

    def _after_work(self, connection: ClientConnection) -> None:
        if connection.failed:
            self._drop(connection)
        elif connection.unsent:
            connection.state = ConnectionState.WRITING
            connection.deadline = time.monotonic() + self._settings.request_seconds
            self._watch(connection, selectors.EVENT_WRITE)
        else:
            self._answered(connection)

    def _write(self, connection: ClientConnection) -> None:
        connection.send()
        self._answered(connection)

    def _answered(self, connection: ClientConnection) -> None:
        self._release(connection)
        if connection.close_after:
            self._end(connection)
            return
        self._rest(connection)
        if rest := connection.reader.rest():
            self._take(connection, rest)

    def _refuse(self, connection: ClientConnection, refused: RequestRefused) -> None:
        """Answer with an error, and end the connection."""
        connection.close_after = True
        self._send(connection, error_response(refused))
        self._after_work(connection)

    # -- the end of connections

    def _end(self, connection: ClientConnection) -> None:
        connection.end_sending()
        connection.state = ConnectionState.ENDING
        connection.deadline = time.monotonic() + _ENDING
        self._watch(connection, selectors.EVENT_READ)

    def _discard(self, connection: ClientConnection) -> None:
        for _ in range(_READS):
            if not connection.receive():
                self._drop(connection)
                return

    def _drop(self, connection: ClientConnection) -> None:
        self._release(connection)
        self._watch(connection, 0)
        self._connections.discard(connection)
        connection.close()

    def _watch(self, connection: ClientConnection, events: int) -> None:
        if events == connection.watched:
            return
        if not connection.watched:
            self._selector.register(connection, events, connection)
        elif not events:
            self._selector.unregister(connection)
        else:
            self._selector.modify(connection, events, connection)
        connection.watched = events
