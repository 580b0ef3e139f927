"""Which web addresses a server may ask on somebody's behalf: the public Internet only, checked on the address that is
then connected to (see `mnote.http.fetch`)."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import idna

_PORTS = frozenset({80, 443, 8080, 8443})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_URL = 4_000
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Resolver = Callable[[str, int], Sequence[str]]


class AddressRefused(Exception):
    """This address must not be asked. The message is one of a few codes and names nothing of the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A checked web address: what to ask, and the one IP address to connect to."""

    url: str
    scheme: str
    host: str
    port: int
    address: str

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host, best first. Raises AddressRefused when it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressRefused("unknown-host") from None
    return [str(each[4][0]) for each in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPolicy:
    """Whom to trust beyond the public Internet: `allowed_hosts` are exact "host" or "host:port" entries that an
    administrator chose; for them neither address nor port is checked."""

    allowed_hosts: frozenset[str] = field(default_factory=frozenset)
    resolver: Resolver = resolve

    def allows(self, host: str, port: int) -> bool:
        """Say whether an administrator chose this host."""
        return bool({host, f"{host}:{port}"} & self.allowed_hosts)


def validate_outbound(url: str, policy: OutboundPolicy) -> Target:
    """Check one address and choose the IP to connect to.

    Raises:
        AddressRefused: bad-address, bad-scheme, bad-port, has-credentials, unknown-host, not-public.
    """
    scheme, host, port = check_form(url, policy)
    is_allowed = policy.allows(host, port)
    addresses = policy.resolver(host, port)
    if not addresses:
        raise AddressRefused("unknown-host")
    # One inner address among outer ones is an attempt to be connected to it.
    if not is_allowed and not all(is_public(each) for each in addresses):
        raise AddressRefused("not-public")
    return Target(url=url, scheme=scheme, host=host, port=port, address=addresses[0])


def check_form(url: str, policy: OutboundPolicy) -> tuple[str, str, int]:
    """Check what can be checked of an address without looking up its host; return scheme, host and port.

    Raises AddressRefused: bad-address, bad-scheme, bad-port, has-credentials.
    """
    scheme, host, port = _parts(url)
    if port not in _PORTS and not policy.allows(host, port):
        raise AddressRefused("bad-port")
    return scheme, host, port


def is_public(address: str) -> bool:
    """Say whether an IP address belongs to the public Internet. IPv4 wrapped in IPv6 does not, save that of NAT64, by
    which networks without IPv4 reach the rest; what is wrapped there is judged."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        if found.ipv4_mapped or found.sixtofour or found.teredo:
            return False
    return found.is_global and not (found.is_multicast or found.is_reserved)


def _parts(url: str) -> tuple[str, str, int]:
    if len(url) > _MAX_URL or any(ord(char) <= 32 or char in '\\<>"{}|^`' or ord(char) == 127 for char in url):
        raise AddressRefused("bad-address")
    try:
        split = urlsplit(url)
        host, port = split.hostname or "", split.port
    except ValueError:
        raise AddressRefused("bad-address") from None
    if split.scheme not in _DEFAULT_PORTS:
        raise AddressRefused("bad-scheme")
    if "@" in split.netloc:
        raise AddressRefused("has-credentials")
    return split.scheme, _plain_host(host), _DEFAULT_PORTS[split.scheme] if port is None else port


def _plain_host(host: str) -> str:
    """Return an IP address as it is, a name in its ASCII form."""
    if ":" in host:
        return host
    try:
        plain = host if host.isascii() else idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        raise AddressRefused("bad-address") from None
    if not _HOST.fullmatch(plain):
        raise AddressRefused("bad-address")
    return plain.removesuffix(".")
