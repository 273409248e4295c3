"""Addresses that no API server has: link-local ones, and those of metadata services, where clouds serve credentials."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

_PART = re.compile(r"0[xX][0-9a-fA-F]*|0[0-7]*|[1-9][0-9]{0,9}").fullmatch
"""A part of an IPv4 address. Like `inet_aton`, it allows any number of leading zeros."""
_V4_IN_V6 = tuple(map(ipaddress.IPv6Network, ("::/96", "64:ff9b::/96")))
"""IPv6 networks whose last 32 bits are an IPv4 address: the IPv4-compatible one, and those of NAT64."""
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "100.100.100.200", "168.63.129.16"),
    )
)
"""The addresses of the metadata services of AWS, Google, Oracle, Alibaba and Azure that are not link-local."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def may_be_metadata(host: str) -> bool:
    """Whether a host is a link-local address or one of a metadata service, in any spelling that a resolver accepts.

    Spellings are decimal, octal and hexadecimal, with one to four parts, a final dot, or a zone, and an IPv4 address
    within an IPv6 address. A name never counts: its address is only known when a client connects.
    """
    address = _address(host.strip("[]").removesuffix(".").partition("%")[0])
    return address is not None and any(
        each.is_link_local or each in _METADATA for each in (address, *_carried(address))
    )


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return _legacy(text)


def _legacy(text: str) -> ipaddress.IPv4Address | None:
    """The address as `inet_aton` reads it: 169.254.43518, 0251.0376.0xa9fe, 2852039166."""
    parts = text.split(".")
    if len(parts) > 4 or not all(map(_PART, parts)):
        return None
    try:
        *octets, last = (_number(part) for part in parts)
        value = sum(octet << (24 - 8 * place) for place, octet in enumerate(octets)) + last
        return ipaddress.IPv4Address(value) if max(octets, default=0) < 256 else None
    except ValueError:  # more than 32 bits
        return None


def _number(part: str) -> int:
    if part[:2] in ("0x", "0X"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)


def _carried(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if any(address in network for network in _V4_IN_V6):
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
