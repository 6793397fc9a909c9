"""The documentation says what is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from cardroom.chassis.settings import ServiceSettings
from cardroom.gateway.envoy.settings import EdgeSettings
from cardroom.lobby.settings import LobbySettings
from cardroom.spectator.settings import SpectatorSettings
from cardroom.table.settings import TableSettings
from tests.unit.docs import reference

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", reference.PAGES)
def test_reference_pages_say_what_the_code_says(name: str) -> None:
    """When this fails, run `python -m tests.unit.docs.reference`."""
    assert (ROOT / name).read_text() == reference.PAGES[name]()


def test_no_services_prefix_begins_anothers_so_that_a_variable_belongs_to_one_only() -> None:
    prefixes = [EdgeSettings.PREFIX, "CARDROOM_LOCAL_", *(service.env_prefix() for service in reference.SERVICES)]
    assert not [(one, other) for one, other in permutations(prefixes, 2) if other.startswith(one)]


def _most(settings: type[BaseSettings], name: str) -> float:
    return next(float(bound.le) for bound in settings.model_fields[name].metadata if hasattr(bound, "le"))


def test_settings_of_different_processes_keep_what_is_promised_together() -> None:
    idle = next(b.ge for b in EdgeSettings.model_fields["stream_idle_seconds"].metadata if hasattr(b, "ge"))
    for service, name in ((TableSettings, "heartbeat_seconds"), (LobbySettings, "watch_heartbeat_seconds")):
        assert _most(service, name) < idle, "the edge must not take a quiet stream for a dead one"
    assert _most(SpectatorSettings, "heartbeat_seconds") < idle
    assert _most(EdgeSettings, "keepalive_seconds") + 5 <= 15, "9.5: a dead peer is found out within 15 s"
    assert _most(EdgeSettings, "health_check_seconds") < _most(ServiceSettings, "linger_seconds")


def test_every_refusal_of_a_method_names_a_status_of_grpc() -> None:
    codes = {refusal.code for refusal in reference.refusals()}
    assert codes <= {
        "ABORTED",
        "ALREADY_EXISTS",
        "FAILED_PRECONDITION",
        "INTERNAL",
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "UNAUTHENTICATED",
        "UNAVAILABLE",
    }


def _links() -> Iterator[tuple[Path, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                yield page, target


def test_links_between_pages_lead_somewhere() -> None:
    broken = [f"{page.name}: {target}" for page, target in _links() if not (page.parent / target).exists()]
    assert not broken


def test_paths_named_in_the_documentation_exist() -> None:
    path = re.compile(r"`((?:libs|services|tests|protos|docs|helm|docker)/[A-Za-z0-9_./-]+)`")
    missing = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        named = path.findall(page.read_text())
        missing += [f"{page.name}: {name}" for name in named if not (ROOT / name).exists()]
    assert not missing
