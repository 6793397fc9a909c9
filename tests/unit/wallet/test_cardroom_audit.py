"""`cardroom audit` prints what was found and exits accordingly."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from cardroom.cli import audit, main
from cardroom.client import CardroomError
from cardroom.contracts.wallet.v1.ledger_pb2 import AuditCheck, AuditCurrency, RunAuditResponse


def found(failure: str = "") -> RunAuditResponse:
    """An audit's answer."""
    return RunAuditResponse(
        passed=not failure,
        checks=[
            AuditCheck(name="sums", rule="all balances sum to the grants", passed=True, checked=12_345),
            AuditCheck(name="holds", rule="held is what holds say", passed=not failure, first_failure=failure),
        ],
        currencies=[AuditCurrency(currency="PLAY", granted=30_000, players=28_000, escrow=2_000)],
        verified_position="7.9",
    )


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the wallet answer what a test says."""

    def set_answer(it: Any) -> None:
        async def ask(*_: Any) -> Any:
            if isinstance(it, Exception):
                raise it
            return it

        monkeypatch.setattr(audit, "_ask", ask)

    return set_answer


def run(*arguments: str) -> Any:
    """Run the command."""
    return CliRunner().invoke(main, ["audit", "--token", "t", *arguments], env={"COLUMNS": "140"})


def test_right_books_exit_with_0_and_show_the_sums(answer: Any) -> None:
    answer(found())
    result = run()
    assert result.exit_code == 0
    assert "✓ the books are right" in result.output
    assert "30,000" in result.output
    assert "12,345" in result.output


def test_wrong_books_exit_with_1_and_name_the_first_thing_wrong(answer: Any) -> None:
    answer(found("house/a/play has 5 held, its holds say 0"))
    result = run()
    assert result.exit_code == 1
    assert "✗ first thing wrong, holds: house/a/play has 5 held, its holds say 0" in result.output


def test_an_audit_that_could_not_be_made_exits_with_2(answer: Any) -> None:
    answer(CardroomError("UNAVAILABLE", "the edge does not answer"))
    assert run().exit_code == 2


def test_somebody_must_ask() -> None:
    result = CliRunner().invoke(main, ["audit"], env={"CARDROOM_TOKEN": "", "CARDROOM_CLIENT_SECRET": ""})
    assert result.exit_code == 2
    assert "CARDROOM_TOKEN" in result.output
