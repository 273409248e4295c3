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


OF_AN_OLD_CURVE = b"""\
-----BEGIN CERTIFICATE-----
MIIBOTCB+KADAgECAhQ2YFuOLNR1+UvCAmtdsN6J3p6HBDAKBggqhkjOPQQDAjAM
MQowCAYDVQQDDAF4MB4XDTI2MTEzMDA0MDI0OFoXDTI2MTIxMDA0MDI0OFowDDEK
MAgGA1UEAwwBeDA+MBAGByqGSM49AgEGBSuBBAAIAyoABARHEHASkx/XsirS047Q
Lu16EpgH62fgJpOSsg9ZPtkHWAVe4SS1rmqjUzBRMB0GA1UdDgQWBBSVM2al8fYd
2/nI0usgppXl4Wm1SzAfBgNVHSMEGDAWgBSVM2al8fYd2/nI0usgppXl4Wm1SzAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCAzAAMC0CFQCM5O3iaMb9FEvNQawW
m2okZM9jywIUF1n8U8cpgBylOBtl/63VVk7pDug=
-----END CERTIFICATE-----
"""
"""A self-signed certificate of OpenSSL, with a key on the curve secp160r1, which `cryptography` does not know."""
