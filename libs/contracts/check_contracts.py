"""Asks buf about the protos: its lint rules, and whether anything that the last release promised was broken.

buf builds its own view of the protos from sources that it fetches; here protoc builds it from the packages that are
installed anyway, so that the check runs without a network.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import grpc_tools.protoc
from google.api import annotations_pb2

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDES = (Path(annotations_pb2.__file__).parent.parent.parent, Path(grpc_tools.protoc.__file__).parent / "_proto")
CONFIG = ROOT / "protos" / "buf.yaml"


def image(protos: Path, target: Path) -> Path:
    """Write the image of every proto under `protos`, comments included."""
    files = sorted(str(path.relative_to(protos)) for path in protos.rglob("*.proto"))
    includes = [f"-I{folder}" for folder in (protos, *INCLUDES)]
    options = ["--include_imports", "--include_source_info", f"--descriptor_set_out={target}"]
    if grpc_tools.protoc.main(["protoc", *includes, *options, *files]) != 0:
        sys.exit("protoc refused the protos; its own words are above")
    return target


def buf(*arguments: str | Path) -> int:
    """Run buf, the one of this environment; its findings go to standard output."""
    program = shutil.which("buf", path=str(Path(sys.executable).parent)) or "buf"
    return subprocess.run([program, *map(str, arguments)], check=False).returncode  # noqa: S603


def released(folder: Path) -> Path | None:
    """The protos of the last tag, unpacked under `folder`; None before the first release."""
    git = shutil.which("git") or "git"
    tag = subprocess.run(  # noqa: S603
        [git, "describe", "--tags", "--abbrev=0"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tag.returncode != 0:
        return None
    archive = subprocess.run(  # noqa: S603
        [git, "archive", tag.stdout.strip(), "protos"], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "protos"


def main(protos: Path) -> int:
    """Lint `protos`, then compare them with the last release."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        now = image(protos, folder / "now.binpb")
        code = buf("lint", now, "--config", CONFIG)
        if (before := released(folder)) is not None:
            old = image(before, folder / "before.binpb")
            code = buf("breaking", now, "--against", old, "--config", CONFIG) or code
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "protos"))
