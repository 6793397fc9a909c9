"""The whole of cardroom on this machine, from Postgres to Envoy, as one thing that is entered and left."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from cardroom.local import environment, runs, servers, settings
from cardroom.local.edge import Edge
from cardroom.local.errors import RunInvalid
from cardroom.local.plan import SERVICES, Plan, StackOptions
from cardroom.local.postgres import Postgres
from cardroom.local.progress import Progress, silent
from cardroom.local.rabbitmq import RabbitMQ
from cardroom.local.runs import Run
from cardroom.local.services import Service
from cardroom.local.settings import LocalSettings

_STOP_SECONDS = 12.0
_Part = TypeVar("_Part")


class Stack:
    """A running card room.

    >>> async with Stack(StackOptions(table_replicas=2)) as stack:
    ...     client = Client.connect(stack.edge_grpc)
    ...     stack.processes["table-0"].kill()

    Entering starts everything and waits until it is ready; leaving stops everything in order and removes its traces.
    A watchdog does the same when this process is killed.
    """

    def __init__(
        self,
        options: StackOptions | None = None,
        *,
        progress: Progress | None = None,
        local_settings: LocalSettings | None = None,
    ) -> None:
        """Describe it; nothing starts yet. Without `progress` it comes up in silence."""
        self.options = options or StackOptions()
        self.processes: dict[str, Service] = {}
        self.started_seconds = 0.0
        self._settings = local_settings or settings.load()
        self._progress = progress or silent()
        self._plan = Plan(self.options)
        self._run: Run | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._postgres: Postgres | None = None
        self._rabbitmq: RabbitMQ | None = None
        self._edge: Edge | None = None

    async def __aenter__(self) -> Self:
        """Start everything and wait until it is ready."""
        began = time.monotonic()
        for run in runs.remove_stale(self._settings.folder):
            self._progress.say(f"✓ removed {run}, whose owner is dead")
        self._run = Run.create(self._settings.folder)
        self._watchdog = runs.start_watchdog(self._run)
        try:
            await self._start(self._run)
        except BaseException:
            await self._stop()
            raise
        self.started_seconds = time.monotonic() - began
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything in order and leave nothing behind."""
        await self._stop()

    @property
    def edge_grpc(self) -> str:
        """host:port of Envoy, for gRPC."""
        return f"127.0.0.1:{self._plan.edge_port}"

    @property
    def edge_url(self) -> str:
        """URL of Envoy, for JSON and gRPC-Web."""
        return f"http://{self.edge_grpc}"

    @property
    def admin_url(self) -> str:
        """URL of Envoy's own pages."""
        return f"http://127.0.0.1:{self._plan.admin_port}"

    @property
    def edge(self) -> Edge:
        """Envoy's process."""
        return _there(self._edge, "edge")

    @property
    def postgres(self) -> Postgres:
        """The database server."""
        return _there(self._postgres, "Postgres")

    @property
    def rabbitmq(self) -> RabbitMQ:
        """The broker."""
        return _there(self._rabbitmq, "RabbitMQ")

    @property
    def logs(self) -> Path:
        """The folder with a log of each process (and its spans, with `trace`)."""
        return _there(self._run, "run").logs

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return _there(self._run, "run").folder

    def logs_of(self, name: str) -> str:
        """Everything that the process of that name has printed so far."""
        path = self.logs / f"{name}.log"
        if not path.exists():
            raise RunInvalid(f"no process {name!r}; there are {', '.join(sorted(self.processes))}")
        return path.read_text(errors="replace")

    def address_of(self, name: str) -> str:
        """host:port of a process's own gRPC server, behind the edge."""
        if name not in self.processes:
            raise RunInvalid(f"no process {name!r}; there are {', '.join(sorted(self.processes))}")
        return self.processes[name].place.address

    def database_url(self, service: str) -> str:
        """How to reach a service's database, as the superuser."""
        if service not in SERVICES:
            raise RunInvalid(f"no service {service!r}; there are {', '.join(SERVICES)}")
        return self.postgres.url(f"cardroom_{service}")

    def client_credentials(self, client: str) -> tuple[str, str]:
        """Id and secret of a client of the identity service: `operator`, `sandbox`, or a service's name."""
        known = self._plan.client_secrets
        if client not in known:
            raise RunInvalid(f"no client {client!r}; there are {', '.join(sorted(known))}")
        return client, known[client]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret of this run; none of them may show up in a log."""
        return (self._plan.deck_key, self._plan.key_encryption_key, *self._plan.client_secrets.values())

    async def restart_rabbitmq(self, *, hard: bool = False) -> None:
        """Restart the broker on its data (`hard`: as after a crash); back when it greets clients."""
        await self.rabbitmq.restart(hard=hard)

    async def restart_postgres(self, *, hard: bool = False) -> None:
        """Restart the database server on its data (`hard`: as after a crash); back when it takes queries."""
        await self.postgres.restart(hard=hard)

    async def until_ready(self) -> None:
        """Wait until every service that runs is ready, after a fault for instance."""
        await _all([process.until_ready() for process in self.processes.values() if process.running])

    async def repair(self) -> None:
        """Bring everything back that was stalled, killed or stopped, and wait until it is ready."""
        for server in (self.postgres, self.rabbitmq):
            if not await server.ready():
                await server.start()
        for process in (*self.processes.values(), *([self._edge] if self._edge else [])):
            process.cont()
            if not process.running:
                process.start()
        await self.until_ready()
        if self._edge is not None:
            await self._edge.until_ready()

    async def _start(self, run: Run) -> None:
        self._postgres, self._rabbitmq = await servers.choose(
            self._settings, run=run, progress=self._progress, durable=self.options.durable
        )
        await _all([self._start_postgres(self._postgres), self._start_rabbitmq(self._rabbitmq)])
        for place in self._plan.places:
            env = environment.of_service(
                place,
                self._plan,
                database_url=self.database_url(place.service),
                amqp_url=self._rabbitmq.url,
                logs=run.logs,
            )
            self.processes[place.name] = Service(place, run=run, env=env)
        # Each service waits for the others that it needs, and Envoy for all, so they may come up in any order.
        for process in self.processes.values():
            process.start()
        edge = [self._start_edge(run)] if self.options.edge else []
        await _all([*(self._report(process) for process in self.processes.values()), *edge])

    async def _start_edge(self, run: Run) -> None:
        self._edge = Edge(self._plan, run=run)
        with self._progress.step(f"Envoy on port {self._plan.edge_port}"):
            await self._edge.render()
            self._edge.start()
            await self._edge.until_ready()

    async def _start_postgres(self, postgres: Postgres) -> None:
        with self._progress.step("Postgres"):
            await postgres.start()
            for service in self.options.services:
                await postgres.create_database(f"cardroom_{service}")

    async def _start_rabbitmq(self, rabbitmq: RabbitMQ) -> None:
        with self._progress.step("RabbitMQ"):
            await rabbitmq.start()

    async def _report(self, process: Service) -> None:
        with self._progress.step(f"{process.name} on port {process.place.grpc_port}"):
            await process.until_ready()

    async def _stop(self) -> None:
        """Edge first, so that nothing new comes in; then the services; what they stand on last."""
        run = _there(self._run, "run")
        if self._edge is not None:
            await self._edge.terminate(_STOP_SECONDS)
        await _each([process.terminate(_STOP_SECONDS) for process in self.processes.values()])
        await _each([server.remove() for server in (self._rabbitmq, self._postgres) if server is not None])
        await asyncio.to_thread(run.remove, keep_logs=self.options.keep_logs)
        if self.options.keep_logs:
            self._progress.say(f"✓ logs are in {run.kept_logs}")
        if self._watchdog is not None:
            await asyncio.to_thread(runs.end_watchdog, self._watchdog)


async def _all(parts: Sequence[Coroutine[Any, Any, object]]) -> None:
    """Run them together; the first failure ends the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
    except* asyncio.CancelledError:
        raise
    except* Exception as failures:
        raise _first(failures) from None


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


async def _each(parts: Sequence[Coroutine[Any, Any, object]]) -> None:
    """Run them together to their ends, whatever becomes of one of them; what is left is for `Run.remove`."""
    await asyncio.gather(*parts, return_exceptions=True)


def _there(part: _Part | None, name: str) -> _Part:
    if part is None:
        raise RunInvalid(f"there is no {name}: the stack is not running, or was told to do without")
    return part
