"""`python -m cardroom.local prepare`: bring what a run needs; `clean`: remove what killed runs left, and kept logs."""

from __future__ import annotations

import asyncio
import sys

from cardroom.local import runs, servers, settings
from cardroom.local.errors import LocalError
from cardroom.local.progress import Progress

_USAGE = "usage: python -m cardroom.local prepare | clean"


def _main(arguments: list[str]) -> int:
    progress = Progress()
    try:
        choices = settings.load()
        stale = runs.remove_stale(choices.folder)
        for run in stale:
            progress.say(f"✓ removed {run}, whose owner is dead")
        match arguments:
            case ["prepare"]:
                progress.say(f"✓ Postgres and RabbitMQ: {asyncio.run(servers.prepare(choices, progress))}")
            case ["clean"]:
                runs.remove_kept_logs(choices.folder)
            case _:
                progress.say(_USAGE)
                return 2
    except LocalError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


sys.exit(_main(sys.argv[1:]))
