"""Certificates as other tools make them."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtensionOID, NameOID

from certs.pki import KeyPair

NOW, YEAR = datetime(2026, 11, 21, tzinfo=UTC), timedelta(days=365)
PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def of_another_tool(key: PrivateKey, *extensions: x509.ExtensionType) -> KeyPair:
    """A self-signed certificate with these extensions only."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Company CA")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 5, NOW, NOW + YEAR)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    signed = builder.sign(key, hashes.SHA256() if isinstance(key, ec.EllipticCurvePrivateKey) else None)
    return KeyPair(
        signed.public_bytes(Encoding.PEM), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )


def with_a_broken_address() -> KeyPair:
    """A certificate that OpenSSL loads, although one of its IP addresses has three bytes."""
    broken = x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, b"\x30\x05\x87\x03abc")
    return of_another_tool(ec.generate_private_key(ec.SECP256R1()), broken)
