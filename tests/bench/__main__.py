"""Runs the measurements one after the other and shows their reports: `python -m tests.bench [NAME…]`.

Every module in this folder is a measurement, a script that prints its report, but for those whose names begin with an
underscore or end with `_load`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
# Measurements that are made in more than one way.
WAYS: Mapping[str, Sequence[tuple[str, ...]]] = {"engine_replay": [(), ("--compiled",)]}


def measurements() -> list[str]:
    """The names of all measurements."""
    names = [path.stem for path in FOLDER.glob("*.py")]
    return sorted(name for name in names if not name.startswith("_") and not name.endswith("_load"))


def main(names: list[str]) -> int:
    """Runs the named measurements, or all. 0 when none failed."""
    known = measurements()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"There is no measurement {', '.join(unknown)}; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    print(f"# Measured on {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}")
    failed = []
    for name in names or known:
        print(f"\n## {name}\n", flush=True)
        for way in WAYS.get(name, [()]):
            command = [sys.executable, "-m", f"tests.bench.{name}", *way]
            if subprocess.run(command, cwd=FOLDER.parents[1], check=False).returncode:
                failed.append(" ".join((name, *way)))
    if failed:
        print(f"\n✗ failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
