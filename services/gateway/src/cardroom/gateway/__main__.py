"""Starts the identity service: `python -m cardroom.gateway`."""

from cardroom.chassis import service
from cardroom.gateway.app import build
from cardroom.gateway.settings import GatewaySettings

if __name__ == "__main__":
    service.run(build, GatewaySettings)
