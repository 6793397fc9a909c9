"""Installing what is missing from Debian's packages, without letting a package start its service."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from cardroom.local.errors import ProgramMissing, StartFailed
from cardroom.local.processes import is_root, run_once
from cardroom.local.progress import Progress
from cardroom.local.settings import inherited_environment

_POLICY = Path("/usr/sbin/policy-rc.d")
_INSTALL_SECONDS = 900.0


async def install(packages: Sequence[str], progress: Progress) -> None:
    """Install `packages`, as root or with sudo; `ProgramMissing` with the command to type when neither is possible."""
    command = f"apt-get install {' '.join(packages)}"
    if shutil.which("apt-get") is None:
        raise ProgramMissing(f"{', '.join(packages)} missing, and this machine has no apt; install them or use Docker")
    prefix = [] if is_root() else ["sudo", "--non-interactive"]
    if prefix and shutil.which("sudo") is None:
        raise ProgramMissing(f"{', '.join(packages)} missing; as root run: {command}")
    env = {**inherited_environment(), "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=600", "-qq"]
    with progress.step(command), _services_stay_down():
        try:
            await run_once([*apt, "update"], env=env, seconds=_INSTALL_SECONDS)
            await run_once(
                [*apt, "install", "--yes", "--no-install-recommends", *packages], env=env, seconds=_INSTALL_SECONDS
            )
        except StartFailed as error:
            raise ProgramMissing(f"could not install {', '.join(packages)}: {error}") from error


@contextlib.contextmanager
def _services_stay_down() -> Iterator[None]:
    """Debian starts a server when it is installed; this run starts its own, so policy-rc.d says no meanwhile."""
    if not os.access(_POLICY.parent, os.W_OK) or _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink(missing_ok=True)
