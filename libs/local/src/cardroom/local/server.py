"""What Postgres and RabbitMQ have in common: a life in a container or as local binaries, with data that stays."""

from __future__ import annotations

from abc import ABC, abstractmethod

from cardroom.local.engine import Container, until_ready


class Server(ABC):
    """A private server on loopback ports of its own, with its data kept until it is removed."""

    READY_SECONDS: float
    """How long it may take to get ready."""

    @abstractmethod
    async def ready(self) -> bool:
        """Whether it serves clients."""

    async def restart(self, *, hard: bool = False) -> None:
        """Stop it (at once if `hard`, which makes it recover from its log) and start it on the same data and port."""
        await (self.kill() if hard else self.stop())
        await self.start()

    @abstractmethod
    async def start(self) -> None:
        """Start it and wait until it is ready."""

    @abstractmethod
    async def stop(self) -> None:
        """Stop it in order; its data stays."""

    @abstractmethod
    async def kill(self) -> None:
        """End it as a crash would."""

    @abstractmethod
    async def remove(self) -> None:
        """End it and forget its data."""


class ContainerServer(Server):
    """A server in a container, which its class describes when it is made."""

    _container: Container
    _created = False

    async def start(self) -> None:
        """Start it (creating its container the first time) and wait until it is ready."""
        await (self._container.start() if self._created else self._container.create())
        self._created = True
        await until_ready(self._container, self.ready, self.READY_SECONDS)

    async def stop(self) -> None:
        """Stop it in order; its data stays."""
        await self._container.stop()

    async def kill(self) -> None:
        """End it as a crash would."""
        await self._container.kill()

    async def remove(self) -> None:
        """End it and forget its data."""
        if self._created:
            await self._container.remove()
