"""`python -m cardroom.gateway.envoy` prints Envoy's configuration, made from the environment; `--run` runs Envoy."""

from __future__ import annotations

import sys

from cardroom.chassis.settings import load
from cardroom.gateway.envoy.render import render
from cardroom.gateway.envoy.settings import EdgeSettings
from cardroom.gateway.envoy.supervise import supervise


def main(arguments: list[str]) -> int:
    """Print or run; return the exit code."""
    if arguments not in ([], ["--run"]):
        sys.stderr.write(
            f"unknown arguments {' '.join(arguments)!r}: none prints the configuration, --run runs Envoy\n"
        )
        return 2
    settings = load(EdgeSettings)
    if arguments:
        return supervise(settings)
    sys.stdout.write(render(settings) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
