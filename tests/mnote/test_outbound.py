from __future__ import annotations

import pytest

from mnote.outbound import AddressRefused, OutboundPolicy, is_public, validate_outbound

PUBLIC = "93.184.215.14"


def policy(*addresses: str, allowed: frozenset[str] = frozenset()) -> OutboundPolicy:
    return OutboundPolicy(allowed_hosts=allowed, resolver=lambda _host, _port: list(addresses))


@pytest.mark.parametrize(
    ("url", "host", "port", "header"),
    [
        ("http://example.com/a", "example.com", 80, "example.com"),
        ("https://example.com:8443/a?b#c", "example.com", 8443, "example.com:8443"),
        ("https://BÜCHER.example/", "xn--bcher-kva.example", 443, "xn--bcher-kva.example"),
        ("https://example.com./", "example.com", 443, "example.com"),
        ("http://[2606:4700::1111]/", "2606:4700::1111", 80, "[2606:4700::1111]"),
    ],
)
def test_validate_outbound_pins_a_public_address(url: str, host: str, port: int, header: str) -> None:
    target = validate_outbound(url, policy(PUBLIC))

    assert (target.host, target.port, target.address, target.host_header) == (host, port, PUBLIC, header)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ftp://example.com/", "bad-scheme"),
        ("file:///etc/passwd", "bad-scheme"),
        ("gopher://example.com/", "bad-scheme"),
        ("javascript:alert(1)", "bad-scheme"),
        ("//example.com/", "bad-scheme"),
        ("http:///a", "bad-address"),
        ("http://exa mple.com/", "bad-address"),
        ("http://example.com\\@127.0.0.1/", "bad-address"),
        ("http://example.com/\r\nHost: x", "bad-address"),
        ("http://%31%32%37.0.0.1/", "bad-address"),
        ("http://[::1", "bad-address"),
        ("http://example.com:99999/", "bad-address"),
        ("http://" + "a" * 5000, "bad-address"),
        ("http://example.com:22/", "bad-port"),
        ("http://example.com:6379/", "bad-port"),
        ("http://me:secret@example.com/", "has-credentials"),
    ],
)
def test_validate_outbound_refuses_what_is_no_plain_web_address(url: str, code: str) -> None:
    with pytest.raises(AddressRefused, match=code):
        validate_outbound(url, policy(PUBLIC))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "2001:0:4136:e378:8000:63bf:80ff:fffe", "not an address",
    ],
)  # fmt: skip
def test_is_public_refuses(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_is_public_accepts(address: str) -> None:
    assert is_public(address)


def test_validate_outbound_refuses_an_inner_address_among_outer_ones() -> None:
    with pytest.raises(AddressRefused, match="not-public"):
        validate_outbound("http://example.com/", policy(PUBLIC, "127.0.0.1"))


def test_validate_outbound_trusts_what_an_administrator_allowed() -> None:
    trusted = policy("10.0.0.5", allowed=frozenset({"wiki.corp:9000"}))

    assert validate_outbound("http://wiki.corp:9000/", trusted).address == "10.0.0.5"


@pytest.mark.parametrize(
    "url", ["http://wiki.corp:9001/", "http://evil-wiki.corp:9000/", "http://wiki.corp.evil:9000/"]
)
def test_validate_outbound_trusts_no_other_name_or_port(url: str) -> None:
    with pytest.raises(AddressRefused):
        validate_outbound(url, policy("10.0.0.5", allowed=frozenset({"wiki.corp:9000"})))


def test_validate_outbound_refuses_a_name_that_nobody_knows() -> None:
    with pytest.raises(AddressRefused, match="unknown-host"):
        validate_outbound("http://name.invalid/", OutboundPolicy())
