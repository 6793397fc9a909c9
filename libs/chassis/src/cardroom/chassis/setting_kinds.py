"""Kinds of values that settings have: each says what is allowed, and none repeats a value that may be secret."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError
from pydantic_settings import NoDecode

T = TypeVar("T")


def host_and_port(address: str) -> tuple[str, int]:
    """Return the two parts of `host:port`. Raises ValueError for anything else."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("it must be host:port, with a port of 1 to 65535")
    return host.strip("[]"), int(port)


def http_place(url: str) -> tuple[str, int]:
    """Return the host and port of an http URL. Raises ValueError for anything else."""
    _check_url(url, ("http", "https"), "http://host:port/path or https://...")
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def misfit(setting: str, value: object, allowed: str) -> PydanticCustomError:
    """What a model's validator raises when `setting`, now `value`, does not go with the others: what is `allowed`.

    A ValueError of such a validator would not tell which variable is meant.
    """
    return PydanticCustomError("misfit", "{allowed}", {"setting": setting, "value": value, "allowed": allowed})


def _check_url(url: str, schemes: tuple[str, ...], form: str) -> None:
    try:
        parts = urlsplit(url)
        # Several hosts are what libpq allows, each with a port of its own.
        places = [urlsplit(f"//{place}") for place in parts.netloc.rpartition("@")[2].split(",")]
        good = parts.scheme in schemes and all(place.hostname and place.port != 0 for place in places)
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"it must be {form}")


def _address(value: str) -> str:
    host_and_port(value)
    return value


def _addresses(value: str) -> str:
    for one in value.split(","):
        host_and_port(one)
    return value


def _http_url(value: str) -> str:
    http_place(value)
    return value


def _amqp_url(value: str) -> str:
    _check_url(value, ("amqp", "amqps"), "amqp://user:password@host:port/vhost")
    return value


def _database_url(value: str) -> str:
    if value:
        _check_url(value, ("postgresql", "postgres"), "postgresql://user:password@host:port/database")
    return value


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("it must be JSON") from None


Address = Annotated[str, AfterValidator(_address)]
"""host:port."""
Addresses = Annotated[str, AfterValidator(_addresses)]
"""host:port, or several of them with commas."""
HttpUrl = Annotated[str, AfterValidator(_http_url)]
AmqpUrl = Annotated[str, AfterValidator(_amqp_url)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
"""Empty where it was not set: who needs a database says so."""
Json = Annotated[T, NoDecode, BeforeValidator(_from_json)]
"""A value written as JSON. (pydantic-settings would raise what is wrong with it past `read`.)"""
