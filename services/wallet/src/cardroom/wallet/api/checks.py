"""Checks of form, before anything is asked of the ledger. A request refused here is not remembered."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from cardroom.wallet.domain.names import AccountName, Kind, parse
from cardroom.wallet.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.duration_pb2 import Duration
    from google.protobuf.message import Message
    from google.protobuf.timestamp_pb2 import Timestamp

AMOUNT_MAX: Final = 10**12
REASON_MAX: Final = 200
LINKED_MAX: Final = 100
PAGE_DEFAULT: Final = 50
PAGE_MAX: Final = 500
HOLD_DEFAULT: Final = timedelta(hours=1)
HOLD_MIN: Final = timedelta(seconds=1)
HOLD_MAX: Final = timedelta(days=7)
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:/-]{1,100}")


def request_id(text: str) -> str:
    """Return the id. Raises Refused REQUEST_ID_INVALID."""
    if _REQUEST_ID.fullmatch(text) is None:
        shown = text[:100]
        message = f"request_id is {shown!r}, not 1 to 100 of letters, digits and . _ : / -; use a UUID"
        raise Refused("REQUEST_ID_INVALID", message, request_id=shown)
    return text


def amount(value: int, field: str = "amount", *, least: int = 1) -> int:
    """Return the amount. Raises Refused AMOUNT_INVALID unless it is from `least` to 1,000,000,000,000."""
    if not least <= value <= AMOUNT_MAX:
        message = f"{field} is {value}, not a whole number of chips from {least} to {AMOUNT_MAX}"
        raise Refused("AMOUNT_INVALID", message, field=field, amount=value)
    return value


def reason(text: str, *, needed: bool = False) -> str:
    """Return the reason. Raises Refused FIELD_INVALID."""
    if "\0" in text:
        wrong = "has a NUL"
    elif needed and not text.strip():
        wrong = "is blank"
    elif len(text) > REASON_MAX:
        wrong = f"has {len(text)} characters"
    else:
        return text
    raise Refused("FIELD_INVALID", f"reason {wrong}: say why in up to {REASON_MAX} characters", field="reason")


def account(text: str, allowed: Sequence[Kind], field: str = "account") -> AccountName:
    """Return the account's name. Raises Refused ACCOUNT_INVALID unless it is one of the kinds."""
    parsed = parse(text, field)
    if parsed.kind not in allowed:
        kinds = " or ".join(allowed)
        message = f"{field} is {text!r}; this call is for accounts of kind {kinds}"
        raise Refused("ACCOUNT_INVALID", message, field=field, account=text)
    return parsed


def id_number(text: str, field: str, missing: str) -> int:
    """Return an id that the wallet gave. Raises Refused with the reason `missing` for what it cannot have given."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Refused(missing, f"{field} is {text[:40]!r}, which this wallet never gave", **{field: text[:40]})
    return int(text)


def time_to_live(message: Any) -> timedelta:
    """Return how long a hold lives. Raises Refused FIELD_INVALID."""
    if not message.HasField("time_to_live"):
        return HOLD_DEFAULT
    duration: Duration = message.time_to_live
    value = timedelta(seconds=max(min(duration.seconds, 10**9), -(10**9)), microseconds=duration.nanos // 1000)
    if not HOLD_MIN <= value <= HOLD_MAX:
        text = f"time_to_live is {value.total_seconds()} s, not 1 s to 604800 s (7 days)"
        raise Refused("FIELD_INVALID", text, field="time_to_live")
    return value


def moment(message: Any, field: str) -> datetime | None:
    """Return a timestamp, None where it is absent. Raises Refused FIELD_INVALID."""
    if not message.HasField(field):
        return None
    value: Timestamp = getattr(message, field)
    try:
        return value.ToDatetime(UTC)
    except (ValueError, OverflowError):
        raise Refused("FIELD_INVALID", f"{field} is not a time of the years 1 to 9999", field=field) from None


def page_size(value: int) -> int:
    """Return the page's size, 50 for 0, at most 500 (AIP-158). Raises Refused FIELD_INVALID below 0."""
    if value < 0:
        raise Refused("FIELD_INVALID", f"page_size is {value}, not from 0", field="page_size")
    return min(value, PAGE_MAX) or PAGE_DEFAULT


def first_difference(now: Message, method: str, then_method: str, then: bytes) -> str:
    """Return the path of the first field in which a repeat differs from the first request, or `method`."""
    if method != then_method:
        return "method"
    before = type(now)()
    try:
        before.ParseFromString(then)
    except DecodeError:
        return "request"
    return _difference(now, before) or "request"


def _difference(left: Message, right: Message) -> str:
    for field in left.DESCRIPTOR.fields:
        one, other = getattr(left, field.name), getattr(right, field.name)
        if one == other:
            continue
        repeated = field.is_repeated
        if field.message_type is None:
            return str(field.name)
        if not repeated:
            inner = _difference(one, other)
            return f"{field.name}.{inner}" if inner else str(field.name)
        for index, (a, b) in enumerate(zip(one, other, strict=False)):
            if a != b:
                return f"{field.name}[{index}].{_difference(a, b)}"
        return str(field.name)
    return ""
