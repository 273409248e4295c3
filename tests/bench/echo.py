"""The floor of a webhook: a TLS server that allows each review at once; it reads only its length and its uid.

`python -m tests.bench.echo FOLDER` serves with the certificate in FOLDER and writes its address there.
"""

from __future__ import annotations

import json
import re
import select
import socket
import ssl
import sys
from pathlib import Path

_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
_UID = re.compile(rb'"request":\{"uid":"([^"]+)"|"uid": "([^"]+)"')
_ALLOWED = '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"%s","allowed":true}}'


def answer(data: bytes) -> bytes:
    """The response to the request in `data`; empty if the request is not complete yet."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if not end or (length is not None and len(body) < int(length[1])):
        return b""
    uid = _UID.search(body)
    text = _ALLOWED % (uid[1] or uid[2]).decode() if uid else "{}"
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


def main() -> None:
    folder = Path(sys.argv[1])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener, select.epoll() as poll:
        poll.register(listener, select.EPOLLIN)
        draft = folder / "echo.json.new"
        draft.write_text(json.dumps({"webhook": f"https://127.0.0.1:{listener.getsockname()[1]}"}))
        draft.replace(folder / "echo.json")
        _serve(listener, poll, context)


def _serve(listener: socket.socket, poll: select.epoll, context: ssl.SSLContext) -> None:
    open_ones: dict[int, ssl.SSLSocket] = {}
    read: dict[int, bytes] = {}
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                made = context.wrap_socket(listener.accept()[0], server_side=True)
                open_ones[made.fileno()], read[made.fileno()] = made, b""
                poll.register(made, select.EPOLLIN)
                continue
            data = open_ones[number].recv(65536)
            if not data:
                poll.unregister(number)
                open_ones.pop(number).close()
                continue
            read[number] += data
            if found := answer(read[number]):
                read[number] = b""
                open_ones[number].sendall(found)


if __name__ == "__main__":
    main()
