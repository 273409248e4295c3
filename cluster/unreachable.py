"""Turns urllib3's exceptions into one error that explains the failed connection and says what to do."""

import ssl

from urllib3 import exceptions

from cluster.errors import Unreachable

_CHECK_ADDRESS = "check the server address of the context and that the API server runs"


def unreachable(host: str, error: Exception) -> Unreachable:
    """The error for a request to `host` that got no complete response."""
    problem, cure, sent = _explain(error)
    return Unreachable(host, problem, cure, sent=sent, slow=_is_slow(error))


def _is_slow(error: Exception) -> bool:
    """Whether the connection was open, and the server did not answer or did not read the request in time.

    urllib3 reports the latter, for a large request over a new connection, like a broken connection.
    """
    unread = isinstance(error, exceptions.ProtocolError) and isinstance(error.args[-1], TimeoutError)
    return unread or isinstance(error, exceptions.ReadTimeoutError | TimeoutError)


def _explain(error: Exception) -> tuple[str, str, bool]:
    """The problem, the fix, and whether the server may have received the request."""
    match error:
        case exceptions.NameResolutionError():
            return "its host name cannot be resolved", "check the server address of the context, or DNS", False
        case exceptions.NewConnectionError():  # before its base class ConnectTimeoutError
            return f"no connection ({_root(error)})", _CHECK_ADDRESS, False
        case exceptions.ConnectTimeoutError():
            return "no connection in time", f"{_CHECK_ADDRESS}; a firewall may drop the packets", False
        case exceptions.ProxyError():
            return f"the proxy rejects the connection ({_root(error)})", "check proxy-url and HTTPS_PROXY", False
        case exceptions.SSLError() if isinstance(error.args[0], ssl.SSLCertVerificationError):
            reason = error.args[0].verify_message
            return f"its certificate is not trusted ({reason})", "check certificate-authority of the context", False
        case exceptions.SSLError():
            return (
                f"no TLS connection ({error})",
                "check that the port serves HTTPS and accepts our client certificate",
                True,  # TLS may break after the handshake
            )
        case _ if _is_slow(error):
            return (
                "connected, but no answer in time",
                "the API server is overloaded or the network dropped the connection",
                True,
            )
    return f"the connection broke ({_root(error)})", "this passes when the API server or the network is back", True


def _root(error: BaseException) -> str:
    """The original error: urllib3 wraps the socket's error several times."""
    inner = error.__cause__ or error.__context__
    while inner is not None and inner is not error:
        error, inner = inner, inner.__cause__ or inner.__context__
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
