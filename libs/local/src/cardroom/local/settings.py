"""What can be chosen for a local run, read from the environment here and nowhere else in this package.

| variable | meaning | default |
|---|---|---|
| CARDROOM_LOCAL_DOCKER | `auto`: containers if a Docker engine answers; `never`; `always` | auto |
| CARDROOM_LOCAL_POSTGRES_IMAGE | image of the Postgres container | postgres:15-bookworm |
| CARDROOM_LOCAL_RABBITMQ_IMAGE | image of the RabbitMQ container, with management | rabbitmq:3.10-management |
| CARDROOM_LOCAL_FOLDER | where runs keep their data and logs; on a real disk | /var/tmp/cardroom-<uid> |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, cast

from cardroom.local.errors import SettingInvalid

PREFIX = "CARDROOM_LOCAL_"
NAMES = ("DOCKER", "POSTGRES_IMAGE", "RABBITMQ_IMAGE", "FOLDER")
DOCKER_CHOICES = ("auto", "never", "always")
DockerChoice = Literal["auto", "never", "always"]


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The choices of one machine; `load` reads them."""

    docker: DockerChoice = "auto"
    postgres_image: str = "postgres:15-bookworm"
    rabbitmq_image: str = "rabbitmq:3.10-management"
    folder: Path = Path("/var/tmp") / f"cardroom-{os.getuid()}"  # noqa: S108  (/tmp may be memory, and commits must be durable)


def load(environ: Mapping[str, str] | None = None) -> LocalSettings:
    """Read the choices from `environ` (the process's own by default).

    Raises `SettingInvalid` with the variable, its value and what is allowed; and for a variable that is none of these.
    """
    source = os.environ if environ is None else environ
    for name in sorted(source):
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in NAMES:
            raise SettingInvalid(f"{name} is not a setting: {_meant(name)}")
    defaults = LocalSettings()
    docker = source.get("CARDROOM_LOCAL_DOCKER", defaults.docker)
    if docker not in DOCKER_CHOICES:
        raise SettingInvalid(f"CARDROOM_LOCAL_DOCKER is {docker!r}; allowed are {', '.join(DOCKER_CHOICES)}")
    folder = Path(source.get("CARDROOM_LOCAL_FOLDER", str(defaults.folder)))
    if not folder.is_absolute():
        raise SettingInvalid(f"CARDROOM_LOCAL_FOLDER is {str(folder)!r}; it must be an absolute path")
    return LocalSettings(
        docker=cast("DockerChoice", docker),
        postgres_image=source.get("CARDROOM_LOCAL_POSTGRES_IMAGE", defaults.postgres_image),
        rabbitmq_image=source.get("CARDROOM_LOCAL_RABBITMQ_IMAGE", defaults.rabbitmq_image),
        folder=folder,
    )


def _meant(name: str) -> str:
    near = get_close_matches(name.removeprefix(PREFIX), NAMES, n=1)
    return f"did you mean {PREFIX}{near[0]}?" if near else f"there are {', '.join(PREFIX + one for one in NAMES)}"


def inherited_environment() -> dict[str, str]:
    """What child processes inherit: this process's environment without local choices and Python switches."""
    dropped = (PREFIX, "PYTEST_", "COVERAGE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
