"""Writes the reference pages that can be read off the code: `python -m tests.unit.docs.reference`.

`docs/reference/settings.md` comes from the settings classes, `docs/reference/errors.md` from the contracts' comments
and the edge's replies. A test fails while a page differs from what this writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from cardroom.chassis.settings import ServiceSettings
from cardroom.clock.settings import ClockSettings
from cardroom.gateway.envoy.replies import replies
from cardroom.gateway.envoy.settings import EdgeSettings
from cardroom.gateway.settings import GatewaySettings
from cardroom.lobby.settings import LobbySettings
from cardroom.spectator.settings import SpectatorSettings
from cardroom.table.settings import TableSettings
from cardroom.wallet.settings import WalletSettings

ROOT = Path(__file__).parents[3]
SERVICES: tuple[type[ServiceSettings], ...] = (
    TableSettings,
    LobbySettings,
    WalletSettings,
    ClockSettings,
    SpectatorSettings,
    GatewaySettings,
)

_SETTINGS_INTRO = """# Settings

Read from the environment at start, nowhere else. A wrong value ends the process with code 2 and a line that names the
variable, the value (never that of a secret) and what is allowed. So does a variable with the service's prefix that is
none of its settings: the line names the nearest one that is. What Kubernetes tells of a Service named `cardroom-table`
is let be, but `CARDROOM_EDGE_PORT` would be a setting as well: give pods `enableServiceLinks: false`.

This page is written by `python -m tests.unit.docs.reference`; a test keeps it true.
"""

_ERRORS_INTRO = """# Errors

Every refusal is a gRPC status with a `google.rpc.ErrorInfo`: `domain` is `cardroom`, `reason` is one of the names below
and stays as it is, `metadata` holds the facts. The message is a sentence for people: what was wrong, with the value,
and what would be right. Code against the reason. Over JSON the same comes as the body
`{"code", "message", "details": […]}`.

Any call may be refused for the reasons of the edge, at the end of this page, and as `PERMISSION_DENIED/SCOPE_MISSING`
or `PERMISSION_DENIED/NOT_A_PLAYER` when the token is not one for it. After `UNAVAILABLE` and `DEADLINE_EXCEEDED` nobody
knows whether the write happened, and repeating it with the same key, or the same turn, is safe.

This page is written by `python -m tests.unit.docs.reference` from the contracts and the edge's own words; a test keeps
it true.
"""

_EDGE_INTRO = """## The edge's list

Refused before any service hears of it, or because none can be heard. Services refuse bad tokens and malformed messages
in the same words. A query parameter that no message has is malformed; a field of a JSON body that no message has is
skipped, as an unknown field is in binary, so that a client may be newer than the server.

| reason | status | over JSON | meaning |
|---|---|---|---|"""


def settings_page() -> str:
    """The text of docs/reference/settings.md."""
    shared = {name: field for name, field in ServiceSettings.model_fields.items() if name != "grpc_port"}
    parts = [
        _SETTINGS_INTRO,
        "## Every service\n",
        "The prefix is the service's: `CARDROOM_TABLE_`, `CARDROOM_LOBBY_`, ...\n",
    ]
    parts.append(_table("CARDROOM_<SERVICE>_", shared))
    for service in SERVICES:
        own = {name: field for name, field in service.model_fields.items() if name not in shared}
        parts += [f"## {service.service}\n", _table(service.env_prefix(), own)]
    parts += ["## Envoy\n", "Read when its configuration is rendered (`python -m cardroom.gateway.envoy`).\n"]
    parts.append(_table(EdgeSettings.PREFIX, EdgeSettings.model_fields))
    return "\n".join(parts)


def _table(prefix: str, fields: dict[str, FieldInfo]) -> str:
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in fields.items():
        about = " ".join((field.description or "").split()).replace("|", "\\|")
        rows.append(f"| `{prefix}{name.upper()}` | {_default(field)} | {about} |")
    return "\n".join(rows) + "\n"


def _default(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    default: Any = field.default
    if field.default_factory is not None:
        return "see text"
    if default is PydanticUndefined or default is ...:
        return "required"
    if isinstance(default, tuple):
        default = ",".join(str(part) for part in default)
    if default in ("", None) or (isinstance(extra, dict) and extra.get("secret") and not isinstance(default, str)):
        return "none"
    return f"`{default}`"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason that one method may refuse with."""

    code: str
    reason: str
    method: str


def refusals() -> Iterator[Refusal]:
    """Every `CODE/REASON` that a method's comment names."""
    for path in sorted((ROOT / "protos").rglob("*.proto")):
        comment: list[str] = []
        service = ""
        for line in path.read_text().splitlines():
            text = line.strip()
            if text.startswith("service "):
                service = text.split()[1]
            if text.startswith("//"):
                comment.append(text.removeprefix("//").strip())
            elif text.startswith("rpc "):
                method = re.split(r"[ (]", text)[1]
                for code, reason in re.findall(r"\b([A-Z_]+)/([A-Z_]+)\b", " ".join(comment)):
                    yield Refusal(code, reason, f"{service}.{method}")
                comment = []
            else:
                comment = []


def reasons_of_the_wallet() -> dict[str, tuple[str, str]]:
    """The wallet's closed list: code and meaning by reason."""
    text = (ROOT / "protos/cardroom/wallet/v1/types.proto").read_text()
    block = text[text.index("enum ErrorReason") :]
    found: dict[str, tuple[str, str]] = {}
    comment: list[str] = []
    for line in block[: block.index("\n}")].splitlines():
        words = line.strip()
        if words.startswith("//"):
            comment.append(words.removeprefix("//").strip())
        elif words.startswith("ERROR_REASON_"):
            code, _, meaning = " ".join(comment).partition(". ")
            found[words.split(" ")[0].removeprefix("ERROR_REASON_")] = (code, meaning)
            comment = []
    found.pop("UNSPECIFIED", None)
    return found


def errors_page() -> str:
    """The text of docs/reference/errors.md."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for refusal in refusals():
        by_reason.setdefault((refusal.reason, refusal.code), []).append(refusal.method)
    rows = ["## By reason\n", "| reason | status | who refuses with it |", "|---|---|---|"]
    for (reason, code), methods in sorted(by_reason.items()):
        rows.append(f"| `{reason}` | {code} | {', '.join(f'`{method}`' for method in dict.fromkeys(methods))} |")
    rows += [
        "",
        "## The wallet's list",
        "",
        "Closed: the wallet refuses with nothing else. *Remembered* means that the same",
    ]
    rows += ["request id gets the same refusal again.", "", "| reason | status | meaning |", "|---|---|---|"]
    for reason, (code, meaning) in reasons_of_the_wallet().items():
        rows.append(f"| `{reason}` | {code} | {meaning} |")
    rows += ["", _EDGE_INTRO]
    for reply in replies():
        # The transcoder's own words are not known before.
        meaning = reply.message.replace("%LOCAL_REPLY_BODY%", "…")
        rows.append(f"| `{reply.reason}` | {reply.code.name} | {reply.http_status} | {meaning} |")
    return _ERRORS_INTRO + "\n" + "\n".join(rows) + "\n"


PAGES = {"docs/reference/settings.md": settings_page, "docs/reference/errors.md": errors_page}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (ROOT / name).write_text(page())
