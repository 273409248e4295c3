"""Creates and reads certificates as bytes, without files or a cluster. The time is an argument with a time zone."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar, cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_Extension = TypeVar("_Extension", bound=x509.ExtensionType)
# Certificates begin this much earlier: an API server with a slow clock would reject one that is not valid yet.
BACKDATE = timedelta(hours=1)
_OVERDUE = 0.75
_LONGEST_COMMON_NAME = 64  # X.520, upper bound of the attribute


class BadCertificate(ValueError):
    """A text is not a PEM certificate or key, or a key does not match its certificate."""


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both PEM; repr hides the key from logs."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class CertificateFacts:
    """The relevant fields of a certificate; times are in UTC, `names` are DNS names and IP addresses."""

    not_before: datetime
    not_after: datetime
    names: frozenset[str]
    subject: str
    issuer: str
    is_ca: bool

    @property
    def overdue(self) -> datetime:
        """When renewal is overdue: after three quarters of its lifetime. It is renewed after one half."""
        return self.not_before + (self.not_after - self.not_before) * _OVERDUE


def new_authority(common_name: str, now: datetime, lifetime: timedelta) -> KeyPair:
    """A self-signed authority for serving certificates only: it may not sign further authorities."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        _builder(name, name, key.public_key(), now, now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
    )
    return _signed(builder, key, key)


def new_server(authority: KeyPair, names: Sequence[str], now: datetime, lifetime: timedelta) -> KeyPair:
    """A serving certificate for DNS names and IP addresses, signed by `authority`. It does not outlive the authority.

    Raises ValueError for a missing or invalid name or an expired authority; BadCertificate for an unreadable authority.
    """
    issuer, issuer_key = _read(authority)
    if issuer.not_valid_after_utc <= now:
        raise ValueError(f"the authority expired at {issuer.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; create a new one")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(names[0] if names and len(names[0]) <= _LONGEST_COMMON_NAME else "")
    identifier = _extension(issuer, x509.SubjectKeyIdentifier) or x509.SubjectKeyIdentifier.from_public_key(
        issuer_key.public_key()
    )
    until = min(now + lifetime, issuer.not_valid_after_utc)
    builder = (
        _builder(subject, issuer.subject, key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_alternative_names(names), critical=not list(subject))  # RFC 5280: critical without a subject
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
    )
    return _signed(builder, key, issuer_key)


def inspect(pem: bytes) -> CertificateFacts:
    """The fields of the first certificate in `pem`. Raises BadCertificate."""
    certificate = _certificate(pem)
    constraints = _extension(certificate, x509.BasicConstraints)
    return CertificateFacts(
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        names=_names(certificate),
        subject=certificate.subject.rfc4514_string(),
        issuer=certificate.issuer.rfc4514_string(),
        is_ca=constraints is not None and constraints.ca,
    )


def canonical(name: str) -> str:
    """A name in the form of `CertificateFacts.names`, since IP addresses have several spellings."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def split(pem: bytes) -> tuple[bytes, ...]:
    """The certificates in `pem`, each as its own PEM. Raises BadCertificate."""
    try:
        certificates = x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise BadCertificate(f"not a PEM certificate: {error}") from error
    return tuple(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def check_pair(pair: KeyPair) -> None:
    """Check that the key matches the certificate. Raises BadCertificate if not, or if either is unreadable."""
    _read(pair)


def signed_by(certificate: bytes, authority: bytes) -> bool:
    """Whether `authority` issued and signed `certificate` (both PEM). Raises BadCertificate."""
    try:
        _certificate(certificate).verify_directly_issued_by(_certificate(authority))
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: EllipticCurvePublicKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    if now.tzinfo is None:
        raise ValueError("the time needs a time zone")
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(until)
    )


def _signed(
    builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey, signer: CertificateIssuerPrivateKeyTypes
) -> KeyPair:
    digest = None if isinstance(signer, Ed25519PrivateKey | Ed448PrivateKey) else hashes.SHA256()  # they have their own
    certificate = builder.sign(signer, digest).public_bytes(Encoding.PEM)
    return KeyPair(certificate, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else [])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_names(names: Sequence[str]) -> x509.SubjectAlternativeName:
    if not names or not all(name and name.isascii() and " " not in name for name in names):
        raise ValueError(f"a certificate needs host names or IP addresses, not {list(names)!r}")
    return x509.SubjectAlternativeName([_general_name(name) for name in dict.fromkeys(names)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names(certificate: x509.Certificate) -> frozenset[str]:
    names = _extension(certificate, x509.SubjectAlternativeName) or x509.SubjectAlternativeName([])
    addresses = (str(address) for address in names.get_values_for_type(x509.IPAddress))
    return frozenset([*names.get_values_for_type(x509.DNSName), *addresses])


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    """The extension; None if there is none. Raises BadCertificate if the extensions cannot be read."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise BadCertificate(f"the extensions of the certificate cannot be read: {error}") from error


def _certificate(pem: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise BadCertificate(f"not a PEM certificate: {error}") from error


def _read(pair: KeyPair) -> "tuple[x509.Certificate, CertificateIssuerPrivateKeyTypes]":
    certificate = _certificate(pair.certificate)
    try:
        key = load_pem_private_key(pair.key, password=None)
        matches = key.public_key() == certificate.public_key()
    except (ValueError, TypeError) as error:  # TypeError: the key is encrypted
        raise BadCertificate(f"not an unencrypted PEM private key: {error}") from error
    except UnsupportedAlgorithm as error:
        raise BadCertificate(f"the algorithm of the key is not supported: {error}") from error
    if not matches:
        raise BadCertificate("the private key belongs to another certificate")
    return certificate, cast("CertificateIssuerPrivateKeyTypes", key)
