"""Certificates for tests of TLS, made by an authority of their own."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme

from toplist.service.settings import TlsFiles


class Authority:
    """A certificate authority, whose certificate is in the file `authority`."""

    def __init__(self, folder: Path) -> None:
        self._ca, self._folder = trustme.CA(), folder
        self.authority = folder / "authority.pem"
        self._ca.cert_pem.write_to_path(str(self.authority))

    def issue(self, name: str = "127.0.0.1") -> TlsFiles:
        """Write a new certificate of a host and its key, over those before."""
        issued = self._ca.issue_cert(name)
        files = TlsFiles(certificate=str(self._folder / "certificate.pem"), key=str(self._folder / "key.pem"))
        chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
        Path(files.certificate).write_bytes(chain)
        key = Path(files.key)
        key.touch(mode=0o600)
        issued.private_key_pem.write_to_path(str(key))
        return files

    def context(self) -> ssl.SSLContext:
        """A client's context that trusts the authority."""
        return ssl.create_default_context(cafile=str(self.authority))
