"""The Docker engine, through its command line: whether it answers, and containers that carry their run's id."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from cardroom.local import runs
from cardroom.local.errors import EngineFailed, ProgramMissing, StartFailed
from cardroom.local.progress import Progress
from cardroom.local.settings import LocalSettings, inherited_environment

_ANSWER_SECONDS = 10.0
_PULL_SECONDS = 600.0


async def docker(*arguments: str, seconds: float = 60.0) -> str:
    """Run one docker command and return what it printed; `EngineFailed` with its words otherwise."""
    program = shutil.which("docker")
    if program is None:
        raise EngineFailed("there is no docker command on this machine")
    child = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        env=inherited_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(child.communicate(), seconds)
    except TimeoutError:
        child.kill()
        await child.wait()
        raise EngineFailed(f"docker {arguments[0]} took longer than {seconds:g} s") from None
    if child.returncode != 0:
        raise EngineFailed(f"docker {arguments[0]} failed: {errors.decode(errors='replace').strip()}")
    return output.decode(errors="replace").strip()


async def answers() -> bool:
    """Whether a Docker engine answers."""
    try:
        await docker("version", "--format", "{{.Server.Version}}", seconds=_ANSWER_SECONDS)
    except EngineFailed:
        return False
    return True


async def chosen(settings: LocalSettings, progress: Progress) -> bool:
    """Whether this run uses containers: the setting, an engine that answers, and images that it has or can get.

    With `auto` an engine that cannot get the images is passed over, visibly; with `always` that is an error.
    """
    if settings.docker == "never":
        return False
    if not await answers():
        if settings.docker == "always":
            raise ProgramMissing("CARDROOM_LOCAL_DOCKER is 'always', but no Docker engine answers `docker version`")
        return False
    try:
        for image in (settings.postgres_image, settings.rabbitmq_image):
            await _have(image, progress)
    except EngineFailed as error:
        if settings.docker == "always":
            raise
        progress.say(f"not using the Docker engine: {error}")
        return False
    return True


async def shares_network() -> bool:
    """Whether a container of the engine can listen on this machine's own loopback interface.

    Not with an engine in a virtual machine, on another machine or in a user's own network namespace.
    """
    if sys.platform != "linux":
        return False
    name, system, security = (
        await docker("info", "--format", "{{.Name}}\n{{.OperatingSystem}}\n{{json .SecurityOptions}}")
    ).split("\n")
    return name == socket.gethostname() and "Docker Desktop" not in system and "rootless" not in security


async def _have(image: str, progress: Progress) -> None:
    try:
        await docker("image", "inspect", "--format", "{{.Id}}", image)
    except EngineFailed:
        with progress.step(f"pulling {image}"):
            await docker("pull", "--quiet", image, seconds=_PULL_SECONDS)


class Container:
    """One container of a run, with a fixed port on the loopback interface and a volume for its data."""

    def __init__(
        self,
        name: str,
        image: str,
        *,
        run: runs.Run,
        env: Mapping[str, str],
        ports: Mapping[int, int],
        volume: str,
        command: Sequence[str] = (),
        stop_signal: str = "SIGTERM",
    ) -> None:
        """Describe it; `ports` maps ports on this machine to ports in the container. With none it has no network of
        its own: it listens on this machine's.
        """
        self.name = f"{run.id}-{name}"
        self._image = image
        self._run = run
        self._env = env
        self._ports = ports
        self._volume = volume
        self._command = command
        self._stop_signal = stop_signal

    async def create(self) -> None:
        """Create and start it."""
        self._run.remember_containers()
        options = ["--name", self.name, "--label", f"{runs.LABEL}={self._run.id}"]
        options += ["--mount", f"type=volume,destination={self._volume}", "--shm-size", "256m"]
        options += ["--stop-signal", self._stop_signal]
        for name, value in self._env.items():
            options += ["--env", f"{name}={value}"]
        # A node of RabbitMQ finds its data by its host's name.
        options += ["--hostname", "cardroom"] if self._ports else ["--network", "host"]
        for outside, inside in self._ports.items():
            options += ["--publish", f"127.0.0.1:{outside}:{inside}"]
        await docker("run", "--detach", *options, self._image, *self._command, seconds=120)

    async def start(self) -> None:
        """Start it again after `stop` or `kill`, with its data."""
        await docker("start", self.name)

    async def stop(self) -> None:
        """Stop it in order."""
        await docker("stop", "--time", "10", self.name)

    async def kill(self) -> None:
        """End it at once."""
        await docker("kill", self.name)

    async def remove(self) -> None:
        """Remove it with its volume."""
        await docker("rm", "--force", "--volumes", self.name)

    async def running(self) -> bool:
        """Whether it runs."""
        return await docker("inspect", "--format", "{{.State.Running}}", self.name) == "true"

    async def tail(self) -> str:
        """The end of what it printed."""
        program = shutil.which("docker") or "docker"
        child = await asyncio.create_subprocess_exec(
            program, "logs", "--tail", "60", self.name, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await child.communicate()
        return output.decode(errors="replace")


async def until_ready(container: Container, ready: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Wait until `ready()`; raises `StartFailed` with the end of its log if it ends first or takes too long."""
    deadline = time.monotonic() + seconds
    while not await ready():
        if not await container.running():
            raise StartFailed(f"container {container.name} ended before it was ready:\n{await container.tail()}")
        if time.monotonic() > deadline:
            raise StartFailed(f"container {container.name} not ready in {seconds:g} s:\n{await container.tail()}")
        await asyncio.sleep(0.1)
