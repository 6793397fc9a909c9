"""Statements in pages: what a list call asks for, and tokens that new entries do not shift (AIP-158)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING, Any

from cardroom.contracts.wallet.v1 import types_pb2
from cardroom.wallet.api import checks
from cardroom.wallet.errors import Refused
from cardroom.wallet.store.history import Span

if TYPE_CHECKING:
    from google.protobuf.message import Message


def span(request: Any, account: str) -> Span:
    """Return the part of a statement that a list request asks for. Raises Refused."""
    for kind in request.kinds:
        if kind not in types_pb2.TransferKind.values() or kind == 0:
            raise Refused("FIELD_INVALID", f"kinds has {kind}, not a TransferKind", field="kinds")
    if request.order not in types_pb2.EntryOrder.values():
        raise Refused("FIELD_INVALID", f"order is {request.order}, not an EntryOrder", field="order")
    return Span(
        newest_first=request.order != types_pb2.ENTRY_ORDER_OLDEST_FIRST,
        size=checks.page_size(request.page_size),
        kinds=frozenset(request.kinds),
        start=checks.moment(request, "start_time"),
        end=checks.moment(request, "end_time"),
        after=_read(request.page_token, _question(request, account)) if request.page_token else None,
    )


def token(request: Message, account: str, version: int | None) -> str:
    """Return the token of the page after `version`; empty when there is none."""
    if version is None:
        return ""
    return base64.urlsafe_b64encode(json.dumps([version, _question(request, account)]).encode()).decode().rstrip("=")


def _question(request: Any, account: str) -> str:
    asked = type(request)()
    asked.CopyFrom(request)
    asked.page_token = ""
    asked.page_size = 0
    content = account.encode() + b"|" + asked.SerializeToString(deterministic=True)
    return hashlib.blake2b(content, digest_size=9).hexdigest()


def _read(text: str, question: str) -> int:
    try:
        version, asked = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, TypeError, RecursionError):
        version, asked = None, ""
    if not isinstance(version, int) or not 0 < version < 2**62:
        raise Refused("PAGE_TOKEN_INVALID", f"page_token is {text[:60]!r}, not one that this wallet gave")
    if asked != question:
        raise Refused(
            "PAGE_TOKEN_INVALID", "page_token belongs to a list with other fields: ask for its first page again"
        )
    return version
