"""The two servers that cardroom stands on, of the kind that this machine offers."""

from __future__ import annotations

from cardroom.local import engine
from cardroom.local.postgres import BinaryPostgres, ContainerPostgres, Postgres, find_binaries
from cardroom.local.progress import Progress
from cardroom.local.rabbitmq import BinaryRabbitMQ, ContainerRabbitMQ, RabbitMQ, find_server
from cardroom.local.runs import Run
from cardroom.local.settings import LocalSettings


async def choose(
    settings: LocalSettings, *, run: Run, progress: Progress, durable: bool = True
) -> tuple[Postgres, RabbitMQ]:
    """Containers where an engine answers and has the images, local binaries otherwise; neither is started yet."""
    if await engine.chosen(settings, progress):
        return (
            ContainerPostgres(
                settings.postgres_image, run=run, durable=durable, on_host_network=await engine.shares_network()
            ),
            ContainerRabbitMQ(settings.rabbitmq_image, run=run),
        )
    return (
        BinaryPostgres(run=run, progress=progress, durable=durable),
        BinaryRabbitMQ(run=run, progress=progress),
    )


async def prepare(settings: LocalSettings, progress: Progress) -> str:
    """Bring what the servers need to this machine now, so that later runs start at once; says which kind they are."""
    if await engine.chosen(settings, progress):
        return "containers"
    await find_binaries(progress)
    await find_server(progress)
    return "local binaries"
