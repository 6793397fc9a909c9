"""Makes Envoy's configuration from the settings."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from importlib import resources
from urllib.parse import urlsplit

import jinja2

from cardroom.chassis.setting_kinds import host_and_port, http_place
from cardroom.gateway.envoy import surface
from cardroom.gateway.envoy.replies import replies
from cardroom.gateway.envoy.settings import EdgeSettings, is_literal


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where one upstream is."""

    name: str
    addresses: tuple[tuple[str, int], ...]
    is_service: bool
    is_http2: bool
    tls_name: str | None = None

    @property
    def is_literal(self) -> bool:
        """Whether every address is an IP address. A name stands for every address that DNS has for it."""
        return all(is_literal(host) for host, _ in self.addresses)


def render(settings: EdgeSettings, *, descriptors: bytes | None = None) -> str:
    """Return the YAML. `descriptors` stand in for the shipped contracts, in tests."""
    known = surface.descriptor_set() if descriptors is None else descriptors
    services = surface.public_services(known)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - YAML, not HTML
    shipped = resources.files(__package__)
    template = environment.from_string((shipped / "envoy.yaml.j2").read_text())
    return template.render(
        s=settings,
        services=services,
        sign_in=surface.SIGN_IN,
        tools=surface.TOOLS,
        replies=replies(),
        frame_check=(shipped / "frame.lua").read_text(),
        origins=[_origin_regex(origin) for origin in settings.cors_origins],
        clusters=_clusters(settings, sorted({service.cluster for service in services} | {"gateway"})),
        descriptors=base64.b64encode(known).decode(),
    )


def _clusters(settings: EdgeSettings, names: list[str]) -> list[Cluster]:
    clusters = [_service(name, getattr(settings, f"{name}_addresses")) for name in names]
    clusters.append(_from_url("jwks", settings.jwks_url, is_http2=False))
    if settings.otlp_endpoint is not None:
        clusters.append(_from_url("otlp", settings.otlp_endpoint, is_http2=True))
    return clusters


def _service(name: str, addresses: tuple[str, ...]) -> Cluster:
    return Cluster(name, tuple(host_and_port(address) for address in addresses), is_service=True, is_http2=True)


def _from_url(name: str, url: str, *, is_http2: bool) -> Cluster:
    address = http_place(url)
    tls_name = address[0] if urlsplit(url).scheme == "https" else None
    return Cluster(name, (address,), is_service=False, is_http2=is_http2, tls_name=tls_name)


def _origin_regex(origin: str) -> str:
    return ".*".join(re.escape(part) for part in origin.split("*"))
