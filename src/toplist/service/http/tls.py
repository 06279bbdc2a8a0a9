"""TLS of the listener: the certificate and its private key, read from files."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

from toplist.core.problem import InvalidInput, refuse
from toplist.service.http.logs import Log
from toplist.service.settings import TlsFiles

HANDSHAKE = 10.0  # seconds, at most; `limits.seconds` if they are fewer
GOODBYE = 2.0  # seconds to wait for the client's end of a TLS connection that was closed
STRICT_TRANSPORT = ("strict-transport-security", "max-age=31536000")  # a year; browsers then ask by HTTPS alone
_SAVED_IN_FULL = "name the file that your certificate authority gave you, in PEM"


def load_tls(files: TlsFiles, log: Log) -> ssl.SSLContext | None:
    """The context of TLS connections, TLS 1.2 or later; None without files. Warns of a key that others can read."""
    if not files.certificate:
        return None
    certificate = _read("tls.certificate", files.certificate, "CERTIFICATE-----")
    key = _read("tls.key", files.key, "PRIVATE KEY-----")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        raise _unusable(files, error) from None
    mode = key.stat().st_mode
    if mode & stat.S_IRWXO:
        detail = "Other users of this machine can use the private key; run chmod o= on the file."
        log.event("private key exposed", file=files.key, mode=f"{stat.S_IMODE(mode):04o}", detail=detail)
    return context


def _read(what: str, name: str, expected: str) -> Path:
    """The path of a file that can be read and looks like PEM."""
    path = Path(name)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise refuse(what, name, "a file that exists", "name another one") from None
    except OSError as error:
        raise refuse(what, name, "a readable file", f"check its permissions ({error.strerror})") from None
    if b"-----BEGIN " not in text or expected.encode() not in text:
        kind = "certificate" if what.endswith("certificate") else "private key"
        raise refuse(what, name, f"a file with a {kind} in PEM", _SAVED_IN_FULL)
    return path


def _no_password() -> str:
    raise InvalidInput(
        "The private key of tls.key is encrypted, and nobody can be asked for its password; "
        "decrypt it with `openssl pkey -in KEY -out NEW`, and let only the service read it."
    )


def _unusable(files: TlsFiles, error: ssl.SSLError) -> InvalidInput:
    if error.reason == "KEY_VALUES_MISMATCH":
        return refuse("tls.key", files.key, f"the private key of {files.certificate}", "name the two of one pair")
    reason = (error.reason or str(error)).lower().replace("_", " ")
    return refuse(
        "tls.certificate", files.certificate, f"a certificate in PEM that fits {files.key}", f"check both ({reason})"
    )
