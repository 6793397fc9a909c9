"""Free TCP ports on the loopback interface."""

from __future__ import annotations

import random
import socket
import time

# Below the kernel's ephemeral range, so that no outgoing connection takes a port between choosing and binding it.
_FIRST, _LAST = 20_000, 31_999
_TRIES_MAX = 2_000
_given: set[int] = set()


def is_free(port: int) -> bool:
    """Whether `port` could be bound on every interface at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))  # noqa: S104  (a port is free only when nobody has it on any interface)
        except OSError:
            return False
    return True


def free_port(preferred: int | None = None) -> int:
    """A port that nobody listens on and that was not given out before by this process; `preferred` if it is one."""
    if preferred is not None and preferred not in _given and is_free(preferred):
        _given.add(preferred)
        return preferred
    chance = random.Random(time.time_ns())  # noqa: S311  (no secret, and a seeded global generator must not repeat ports)
    for _ in range(_TRIES_MAX):
        port = chance.randint(_FIRST, _LAST)
        if port not in _given and is_free(port):
            _given.add(port)
            return port
    raise OSError(f"no free port between {_FIRST} and {_LAST} after {_TRIES_MAX} tries")


def give_back(port: int) -> None:
    """Let `port` be given out again."""
    _given.discard(port)


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something accepts connections on `port`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((host, port)) == 0
