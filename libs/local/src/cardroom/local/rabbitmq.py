"""A private RabbitMQ broker: a container or local binaries, the same to whoever uses it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import signal
from pathlib import Path

from cardroom.local import apt
from cardroom.local.engine import Container
from cardroom.local.errors import StartFailed
from cardroom.local.ports import free_port
from cardroom.local.processes import Process, is_root
from cardroom.local.progress import Progress
from cardroom.local.runs import Run
from cardroom.local.server import ContainerServer, Server
from cardroom.local.settings import inherited_environment

_USER = "cardroom"
_DEBIAN = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_HELLO = b"AMQP\x00\x00\x09\x01"
_METHOD_FRAME = 1
# Erlang's schedulers spin a while before they sleep, each on a core of its own. Beside everything else on one machine
# that is taken from the others.
_THRIFTY = "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"
# The numbers behind the management pages cost more than an idle card room does.
_WITHOUT_STATISTICS = "-rabbitmq_management_agent disable_metrics_collector true"


class RabbitMQ(Server):
    """A running broker of its own, on free loopback ports, with one administrator."""

    READY_SECONDS = 120.0

    def __init__(self, *, statistics: bool = False) -> None:
        """Choose its ports and its secret; nothing starts yet. `statistics`: the management API knows connections."""
        self._arguments = _THRIFTY if statistics else f"{_THRIFTY} {_WITHOUT_STATISTICS}"
        self.port = free_port()
        self.management_port = free_port()
        self.password = secrets.token_urlsafe(16)

    @property
    def url(self) -> str:
        """How to reach the default virtual host."""
        return f"amqp://{_USER}:{self.password}@127.0.0.1:{self.port}/"

    @property
    def management_url(self) -> str:
        """How to reach the management API, with its credentials."""
        return f"http://{_USER}:{self.password}@127.0.0.1:{self.management_port}"

    async def ready(self) -> bool:
        """Whether it greets AMQP clients; it listens only once its users and virtual hosts exist."""
        return await greets(self.port)


class ContainerRabbitMQ(ContainerServer, RabbitMQ):
    """RabbitMQ in a container."""

    def __init__(self, image: str, *, run: Run) -> None:
        """Describe it; nothing starts yet."""
        super().__init__()
        self._container = Container(
            "rabbitmq",
            image,
            run=run,
            env={
                "RABBITMQ_DEFAULT_USER": _USER,
                "RABBITMQ_DEFAULT_PASS": self.password,
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": self._arguments,
            },
            ports={self.port: 5672, self.management_port: 15672},
            volume="/var/lib/rabbitmq",
        )


class BinaryRabbitMQ(RabbitMQ):
    """RabbitMQ from this machine's own programs: own node name, own epmd, data in the run's folder."""

    def __init__(self, *, run: Run, progress: Progress, statistics: bool = False) -> None:
        """Describe it; nothing starts yet."""
        super().__init__(statistics=statistics)
        self._run = run
        self._progress = progress
        self._folder = run.folder / "rabbitmq"
        self._user = "rabbitmq" if is_root() else None
        self._epmd_port = free_port()
        self._epmd: Process | None = None
        self._process: Process | None = None

    async def start(self) -> None:
        """Start it (making its folder the first time) and wait until it greets AMQP clients."""
        if self._process is None or self._epmd is None:
            self._epmd, self._process = await self._prepare()
        if not self._epmd.running:
            self._epmd.start()
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

    async def remove(self) -> None:
        """End it and forget its data."""
        await self.kill()
        if self._epmd is not None:
            await self._epmd.terminate()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _prepare(self) -> tuple[Process, Process]:
        server = await find_server(self._progress)
        self._folder.mkdir(mode=0o700)
        self._write_configuration()
        if self._user is not None:
            for path in (self._folder, *self._folder.iterdir()):
                shutil.chown(path, self._user, self._user)
        epmd = shutil.which("epmd")
        if epmd is None:
            raise StartFailed("rabbitmq-server is installed, but its epmd is not in PATH")
        env = self._environment()
        return (
            Process("epmd", [epmd, "-port", str(self._epmd_port)], run=self._run, env=env, user=self._user),
            Process(
                "rabbitmq",
                [str(server)],
                run=self._run,
                env=env,
                user=self._user,
                orphan_signal=signal.SIGKILL,
            ),
        )

    def _write_configuration(self) -> None:
        lines = [
            f"listeners.tcp.1 = 127.0.0.1:{self.port}",
            f"management.tcp.port = {self.management_port}",
            "management.tcp.ip = 127.0.0.1",
            f"default_user = {_USER}",
            f"default_pass = {self.password}",
            "default_user_tags.administrator = true",
            "log.console = true",
            "log.console.level = warning",
            "log.file = false",
            "disk_free_limit.absolute = 50MB",
        ]
        (self._folder / "rabbitmq.conf").write_text("\n".join(lines) + "\n")
        (self._folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
        (self._folder / "advanced.config").write_text("[].\n")

    def _environment(self) -> dict[str, str]:
        folder = str(self._folder)
        return {
            **inherited_environment(),
            "LC_ALL": "C.UTF-8",
            "HOME": folder,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{folder}/advanced.config",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_NODENAME": f"{self._run.id}@localhost",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": self._arguments,
            # The start script then becomes the broker instead of waiting beside it, so that signals reach the broker.
            "RUNNING_UNDER_SYSTEMD": "true",
        }


async def greets(port: int, host: str = "127.0.0.1") -> bool:
    """Whether an AMQP broker answers there."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 2)
    except (OSError, TimeoutError):
        return False
    try:
        writer.write(_HELLO)
        answer = await asyncio.wait_for(reader.readexactly(1), 2)
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return answer[0] == _METHOD_FRAME


async def find_server(progress: Progress) -> Path:
    """The broker's start script, installed by apt if it is missing."""
    for _ in range(2):
        if _DEBIAN.exists():
            return _DEBIAN
        if not is_root() and (program := shutil.which("rabbitmq-server")):
            return Path(program)
        await apt.install(["rabbitmq-server"], progress)
    raise StartFailed(f"the package rabbitmq-server was installed, but {_DEBIAN} does not exist")
