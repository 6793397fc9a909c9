"""A private Postgres server: a container or local binaries, the same to whoever uses it."""

from __future__ import annotations

import secrets
import shutil
import signal
from pathlib import Path

import asyncpg

from cardroom.local import apt
from cardroom.local.engine import Container
from cardroom.local.errors import StartFailed
from cardroom.local.ports import free_port
from cardroom.local.processes import Process, is_root, run_once
from cardroom.local.progress import Progress
from cardroom.local.runs import Run
from cardroom.local.server import ContainerServer, Server
from cardroom.local.settings import inherited_environment

_USER = "cardroom"
_DEBIAN = Path("/usr/lib/postgresql")
# Postgres' own meanings: SIGINT ends sessions instead of waiting for them, SIGQUIT does not even write a checkpoint.
_FAST_SHUTDOWN, _IMMEDIATE_SHUTDOWN = signal.SIGINT, signal.SIGQUIT
# Commits stay durable (fsync and synchronous_commit on) unless a caller that only tests says otherwise.
_OPTIONS = ("max_connections=300", "shared_buffers=256MB", "max_wal_size=2GB", "log_min_messages=warning")
# An image may come up with SQL_ASCII; a database of ours says what it is.
AS_UTF8 = "template template0 encoding 'UTF8' lc_collate 'C.UTF-8' lc_ctype 'C.UTF-8'"
_FAST = ("fsync=off", "full_page_writes=off")


class Postgres(Server):
    """A running server of its own, on a free loopback port, with one superuser."""

    READY_SECONDS = 60.0

    def __init__(self, *, durable: bool = True) -> None:
        """With `durable=False` a crash of the machine may lose commits; for tests only."""
        self.port = free_port()
        self.password = secrets.token_urlsafe(16)
        self._options = _OPTIONS if durable else _OPTIONS + _FAST

    def url(self, database: str = "postgres") -> str:
        """How to reach `database` as the superuser."""
        return f"postgresql://{_USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    async def create_database(self, name: str) -> str:
        """Make an empty database and return its URL."""
        connection = await asyncpg.connect(self.url())
        try:
            await connection.execute(f'create database "{name}" {AS_UTF8}')
        finally:
            await connection.close()
        return self.url(name)

    async def ready(self) -> bool:
        """Whether it takes queries."""
        try:
            connection = await asyncpg.connect(self.url(), timeout=5)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False
        await connection.close(timeout=5)
        return True


class ContainerPostgres(ContainerServer, Postgres):
    """Postgres in a container."""

    def __init__(self, image: str, *, run: Run, durable: bool = True, on_host_network: bool = False) -> None:
        """Describe it; nothing starts yet.

        `on_host_network`: it listens on this machine itself (`engine.shares_network`). A published port goes through a
        proxy process of the engine, which takes as much of the machine as the statements themselves.
        """
        super().__init__(durable=durable)
        place = (f"port={self.port}", "listen_addresses=127.0.0.1") if on_host_network else ()
        self._container = Container(
            "postgres",
            image,
            run=run,
            env={
                "POSTGRES_USER": _USER,
                "POSTGRES_PASSWORD": self.password,
                "POSTGRES_DB": "postgres",
                # The image would trust whoever comes over the loopback interface, which here is the whole machine.
                "POSTGRES_INITDB_ARGS": "--auth-host=scram-sha-256",
            },
            ports={} if on_host_network else {self.port: 5432},
            volume="/var/lib/postgresql/data",
            command=["postgres", *(part for option in (*self._options, *place) for part in ("-c", option))],
            stop_signal=_FAST_SHUTDOWN.name,
        )


class BinaryPostgres(Postgres):
    """Postgres from this machine's own programs, as a user that is not root, in the run's folder."""

    def __init__(self, *, run: Run, progress: Progress, durable: bool = True) -> None:
        """Describe it; nothing starts yet."""
        super().__init__(durable=durable)
        self._run = run
        self._progress = progress
        self._data = run.folder / "postgres"
        self._user = "postgres" if is_root() else None
        self._process: Process | None = None

    async def start(self) -> None:
        """Start it (making its data folder the first time) and wait until it takes queries."""
        if self._process is None:
            self._process = await self._prepare()
        self._process.start()
        await self._process.until(self.ready, self.READY_SECONDS)

    async def stop(self) -> None:
        """Stop it in order; its data stays."""
        if self._process is not None:
            await self._process.terminate(20)

    async def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    async def remove(self) -> None:
        """End it and forget its data."""
        if self._process is not None:
            self._process.signal(_IMMEDIATE_SHUTDOWN)
        await self.stop()
        shutil.rmtree(self._data, ignore_errors=True)

    async def _prepare(self) -> Process:
        binaries = await find_binaries(self._progress)
        self._data.mkdir(mode=0o700)
        if self._user is not None:
            shutil.chown(self._data, self._user, self._user)
        env = {**inherited_environment(), "LC_ALL": "C.UTF-8"}
        await self._initialise(binaries, env)
        options = [part for option in self._options for part in ("-c", option)]
        place = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={self.port}", "-c", "unix_socket_directories="]
        return Process(
            "postgres",
            [str(binaries / "postgres"), "-D", str(self._data), *place, *options],
            run=self._run,
            env=env,
            user=self._user,
            stop_signal=_FAST_SHUTDOWN,
            orphan_signal=_IMMEDIATE_SHUTDOWN,
        )

    async def _initialise(self, binaries: Path, env: dict[str, str]) -> None:
        secret = self._run.folder / "postgres.password"
        secret.touch(mode=0o600)
        secret.write_text(self.password + "\n")
        if self._user is not None:
            shutil.chown(secret, self._user, self._user)
        options = ["--username", _USER, "--pwfile", str(secret), "--auth", "scram-sha-256", "--encoding", "UTF8"]
        await run_once(
            [str(binaries / "initdb"), "--pgdata", str(self._data), "--no-sync", *options], env=env, user=self._user
        )
        secret.unlink()


async def find_binaries(progress: Progress) -> Path:
    """The folder of Postgres's own programs, installed by apt if there is none."""
    if (found := _installed()) is not None:
        return found
    await apt.install(["postgresql"], progress)
    if (found := _installed()) is not None:
        return found
    raise StartFailed("the package postgresql was installed, but no initdb was found in /usr/lib/postgresql or PATH")


def _installed() -> Path | None:
    versions = [folder for folder in _DEBIAN.glob("*/bin") if (folder / "postgres").exists()]
    if versions:
        return max(versions, key=lambda folder: int(folder.parent.name))
    program = shutil.which("postgres")
    return Path(program).resolve().parent if program else None
