"""Certificates as API servers present them to webhooks."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from certs.pki import KeyPair, new_authority


def authority() -> KeyPair:
    return new_authority("api servers", datetime.now(UTC), timedelta(days=1))


def client_certificate(signer: KeyPair, common_name: str) -> KeyPair:
    """A certificate for clients."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(signer.certificate)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), critical=False)
        .sign(serialization.load_pem_private_key(signer.key, None), hashes.SHA256())  # type: ignore[arg-type]
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private)


def trusting(ca: Path, folder: Path, shown: KeyPair | None) -> ssl.SSLContext:
    """A client that shows this certificate; its files go to `folder`."""
    context = ssl.create_default_context(cafile=str(ca))
    if shown:
        certificate, key = folder / "client.crt", folder / "client.key"
        certificate.write_bytes(shown.certificate)
        key.write_bytes(shown.key)
        context.load_cert_chain(certificate, key)
    return context
