"""Generates `cardroom.contracts` from `protos/`: messages, gRPC stubs, type stubs and one descriptor set for Envoy.

Protoc writes modules that import `cardroom.<area>.v1`. Those names belong to the services themselves, so the generated
code lives under `cardroom.contracts.<area>.v1` and its imports are rewritten to match.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import grpc_tools.protoc
from google.api import annotations_pb2

HERE = Path(__file__).resolve().parent
PROTOS = HERE.parent.parent / "protos"
GOOGLEAPIS = Path(annotations_pb2.__file__).parent.parent.parent
OUT = HERE / "src" / "cardroom" / "contracts"
KEPT = {"__init__.py", "py.typed"}
# Errors carry these as `Any`; Envoy can only write them as JSON if it knows them.
ERROR_PROTOS = ["google/rpc/status.proto", "google/rpc/error_details.proto"]
MODULE = re.compile(r"\bcardroom\.([a-z]+)\.v1(?=( import|\.[a-z_]+_pb2))")


def generate() -> None:
    """Write every generated file anew; what protoc no longer makes disappears."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where protoc's plug-ins are
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    staging = OUT.parent / "_contracts_staging"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    code = grpc_tools.protoc.main(
        [
            "protoc",
            f"-I{PROTOS}",
            f"-I{GOOGLEAPIS}",
            f"-I{Path(grpc_tools.protoc.__file__).parent / '_proto'}",
            f"--python_out={staging}",
            f"--grpc_python_out={staging}",
            f"--mypy_out=quiet:{staging}",
            f"--mypy_grpc_out=quiet:{staging}",
            f"--descriptor_set_out={staging / 'descriptors.binpb'}",
            "--include_imports",
            *files,
            *ERROR_PROTOS,
        ]
    )
    if code != 0:
        sys.exit("protoc refused the protos (its own words are above); `make check` runs buf for a second opinion")
    _publish(staging)
    shutil.rmtree(staging)


def _publish(staging: Path) -> None:
    fresh = {Path("descriptors.binpb"): (staging / "descriptors.binpb").read_bytes()}
    for path in sorted((staging / "cardroom").rglob("*.py*")):
        relative = path.relative_to(staging / "cardroom")
        fresh[relative] = MODULE.sub(r"cardroom.contracts.\1.v1", path.read_text()).encode()
        fresh[relative.parent / "__init__.py"] = fresh[relative.parent.parent / "__init__.py"] = b""
    for relative, content in fresh.items():
        target = OUT / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != content:
            target.write_bytes(content)
    for old in [path for path in OUT.rglob("*") if path.is_file() and "__pycache__" not in path.parts]:
        if old.relative_to(OUT) not in fresh and str(old.relative_to(OUT)) not in KEPT:
            old.unlink()


if __name__ == "__main__":
    generate()
