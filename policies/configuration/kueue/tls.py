"""Finds faults of the section `tls`. Versions and cipher suites have Go's names, curves have numbers."""

from __future__ import annotations

from collections.abc import Iterator

from policies.configuration.kueue.fault import Fault, invalid
from policies.dialects.reading import Manifest, listing, mapping

_VERSIONS = ("", "VersionTLS12", "VersionTLS13")
_ECDHE = (
    *("AES_128_CBC_SHA", "AES_128_CBC_SHA256", "AES_128_GCM_SHA256", "AES_256_CBC_SHA", "AES_256_GCM_SHA384"),
    *("CHACHA20_POLY1305", "CHACHA20_POLY1305_SHA256", "RC4_128_SHA"),
)
_RSA = (
    *("3DES_EDE_CBC_SHA", "AES_128_CBC_SHA", "AES_128_CBC_SHA256", "AES_128_GCM_SHA256", "AES_256_CBC_SHA"),
    *("AES_256_GCM_SHA384", "RC4_128_SHA"),
)
SUITES = frozenset(
    (
        *("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"),
        *(f"TLS_ECDHE_ECDSA_WITH_{cipher}" for cipher in _ECDHE),
        *(f"TLS_ECDHE_RSA_WITH_{cipher}" for cipher in (*_ECDHE, "3DES_EDE_CBC_SHA")),
        *(f"TLS_RSA_WITH_{cipher}" for cipher in _RSA),
    )
)
CURVES = frozenset((23, 24, 25, 29, 4587, 4588, 4589))
"""The key exchanges of Go: P-256, P-384, P-521, X25519, and the three hybrids with ML-KEM."""
_MOST = 2**16 - 1


def tls(configuration: Manifest) -> Iterator[Fault]:
    section = mapping(configuration.get("tls"))
    version, named = section.get("minVersion") or "", listing(section.get("cipherSuites"))
    unknown = [name for name in named if name not in SUITES]
    if version not in _VERSIONS:
        yield invalid("tls", f"minVersion: {version!r} is unknown; write VersionTLS12 or VersionTLS13")
    elif unknown:
        yield invalid("tls", f"cipherSuites: {unknown[0]!r} is not supported by Go")
    elif version == "VersionTLS13" and named:
        yield invalid("tls.cipherSuites", "cipher suites of TLS 1.3 cannot be chosen; remove them")
    yield from _curves(section.get("curvePreferences"))


def _curves(preferences: object) -> Iterator[Fault]:
    earlier: set[object] = set()
    for curve in listing(preferences):
        why = _no_curve(curve) or ("is listed twice" if curve in earlier else "")
        if why:
            yield invalid("tls.curvePreferences", f"invalid curve preferences: {curve!r} {why}")
            return
        earlier.add(curve)


def _no_curve(curve: object) -> str:
    """Why the value is not a valid curve; empty if it is."""
    if isinstance(curve, bool) or not isinstance(curve, int):
        return "is not a whole number"
    if not 1 <= curve <= _MOST:
        return f"is not between 1 and {_MOST}"
    return "" if curve in CURVES else "is not supported by Go"
