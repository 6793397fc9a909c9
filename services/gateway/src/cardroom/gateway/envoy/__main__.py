"""`python -m cardroom.gateway.envoy` prints Envoy's configuration, made from the environment."""

from __future__ import annotations

import sys

from cardroom.gateway.envoy.render import render
from cardroom.gateway.envoy.settings import load

if __name__ == "__main__":
    sys.stdout.write(render(load()) + "\n")
