"""Envoy's configuration, made from one template for a local run, a container and a cluster."""

from cardroom.gateway.envoy.render import render
from cardroom.gateway.envoy.settings import EdgeSettings

__all__ = ["EdgeSettings", "render"]
