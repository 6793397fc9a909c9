"""Writes replies: domain outcomes and stored rows as the messages of `cardroom.wallet.v1`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.contracts.wallet.v1 import ledger_pb2, types_pb2, wallet_pb2

if TYPE_CHECKING:
    from cardroom.wallet.domain.audit import Report
    from cardroom.wallet.domain.books import BalanceAfter, Hold, Transfer
    from cardroom.wallet.domain.commands import Outcome
    from cardroom.wallet.store.history import EntryRow, TransferRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def timestamp(at: datetime) -> Timestamp:
    """Return a moment as protobuf, to the microsecond."""
    since = at - _EPOCH
    return Timestamp(seconds=since.days * 86400 + since.seconds, nanos=since.microseconds * 1000)


def balance(it: BalanceAfter) -> types_pb2.Balance:
    """Return an account's balance."""
    return types_pb2.Balance(
        account=it.account,
        currency=it.currency,
        posted=it.posted,
        held=it.held,
        available=it.posted - it.held,
        version=it.version,
        closed=it.closed,
    )


def entry(it: EntryRow) -> types_pb2.Entry:
    """Return a line of history."""
    return types_pb2.Entry(
        account=it.account,
        version=it.version,
        amount=it.amount,
        balance_after=it.balance_after,
        held_change=it.held_change,
        held_after=it.held_after,
        transfer_id=str(it.transfer_id),
        kind=types_pb2.TransferKind.ValueType(it.kind),
        reason=it.reason,
        create_time=timestamp(it.created_at),
    )


def transfer(it: Transfer | TransferRow) -> types_pb2.Transfer:
    """Return a transfer with its entries."""
    id_, at, kind = str(it.id), timestamp(it.at), types_pb2.TransferKind.ValueType(int(it.kind))
    return types_pb2.Transfer(
        transfer_id=id_,
        kind=kind,
        currency=it.currency,
        reason=it.reason,
        actor=it.actor,
        create_time=at,
        hold_id=str(it.hold_id) if it.hold_id else "",
        entries=[
            types_pb2.Entry(
                account=entry.account,
                version=entry.version,
                amount=entry.amount,
                balance_after=entry.balance_after,
                held_change=entry.held_change,
                held_after=entry.held_after,
                transfer_id=id_,
                kind=kind,
                reason=it.reason,
                create_time=at,
            )
            for entry in it.entries
        ],
    )


def hold(it: Hold) -> types_pb2.Hold:
    """Return a hold."""
    return types_pb2.Hold(
        hold_id=str(it.id),
        account=it.account,
        amount=it.amount,
        state=types_pb2.HoldState.ValueType(int(it.state)),
        reason=it.reason,
        create_time=timestamp(it.created_at),
        expire_time=timestamp(it.expires_at),
        posted_amount=it.posted_amount,
    )


def _hold_of(outcome: Outcome) -> types_pb2.Hold:
    assert outcome.hold is not None
    return hold(outcome.hold)


def placed(outcome: Outcome) -> bytes:
    """Return the reply to PlaceHold."""
    return ledger_pb2.PlaceHoldResponse(
        hold=_hold_of(outcome), balance=balance(outcome.balances[0]), transfer=transfer(outcome.transfers[0])
    ).SerializeToString()


def posted(outcome: Outcome) -> bytes:
    """Return the reply to PostHold."""
    payer, payee = outcome.balances
    return ledger_pb2.PostHoldResponse(
        hold=_hold_of(outcome),
        transfer=transfer(outcome.transfers[0]),
        from_balance=balance(payer),
        to_balance=balance(payee),
    ).SerializeToString()


def voided(outcome: Outcome) -> bytes:
    """Return the reply to VoidHold."""
    return ledger_pb2.VoidHoldResponse(
        hold=_hold_of(outcome), balance=balance(outcome.balances[0]), transfer=transfer(outcome.transfers[0])
    ).SerializeToString()


def cashed_out(outcome: Outcome) -> bytes:
    """Return the reply to CashOut."""
    moved = outcome.transfers[0] if outcome.transfers else None
    return ledger_pb2.CashOutResponse(
        balance=balance(outcome.balances[0]),
        transfer=transfer(moved) if moved else None,
        amount=moved.entries[-1].amount if moved else 0,
    ).SerializeToString()


def moved_one(outcome: Outcome) -> bytes:
    """Return the reply to CreateTransfer."""
    debit, credit = outcome.balances
    return ledger_pb2.CreateTransferResponse(
        transfer=transfer(outcome.transfers[0]), debit_balance=balance(debit), credit_balance=balance(credit)
    ).SerializeToString()


def moved_linked(outcome: Outcome) -> bytes:
    """Return the reply to CreateLinkedTransfers."""
    return ledger_pb2.CreateLinkedTransfersResponse(
        transfers=[transfer(it) for it in outcome.transfers], balances=[balance(it) for it in outcome.balances]
    ).SerializeToString()


def granted(outcome: Outcome) -> bytes:
    """Return the reply to Grant."""
    return ledger_pb2.GrantResponse(
        transfer=transfer(outcome.transfers[0]), balance=balance(outcome.balances[0])
    ).SerializeToString()


def adjusted(outcome: Outcome) -> bytes:
    """Return the reply to Adjust."""
    return ledger_pb2.AdjustResponse(
        transfer=transfer(outcome.transfers[0]), balance=balance(outcome.balances[0])
    ).SerializeToString()


def refilled(outcome: Outcome) -> bytes:
    """Return the reply to Refill."""
    return wallet_pb2.RefillResponse(
        balance=balance(outcome.balances[0]), transfer=transfer(outcome.transfers[0])
    ).SerializeToString()


def house_opened(outcome: Outcome) -> bytes:
    """Return the reply to OpenHouseAccount."""
    return ledger_pb2.OpenHouseAccountResponse(balance=balance(outcome.balances[0])).SerializeToString()


def league_opened(outcome: Outcome) -> bytes:
    """Return the reply to OpenLeagueAccounts."""
    return ledger_pb2.OpenLeagueAccountsResponse(
        balances=[balance(it) for it in outcome.balances], opened_player_ids=outcome.opened_player_ids
    ).SerializeToString()


def league_closed(outcome: Outcome) -> bytes:
    """Return the reply to CloseLeague."""
    return ledger_pb2.CloseLeagueResponse(closed_accounts=outcome.closed_accounts).SerializeToString()


def audit(report: Report) -> ledger_pb2.RunAuditResponse:
    """Return the reply to RunAudit."""
    return ledger_pb2.RunAuditResponse(
        passed=report.passed,
        checks=[
            ledger_pb2.AuditCheck(
                name=it.name, rule=it.rule, passed=it.passed, checked=it.checked, first_failure=it.first_failure
            )
            for it in report.checks
        ],
        currencies=[
            ledger_pb2.AuditCurrency(
                currency=it.currency,
                granted=it.granted,
                adjusted=it.adjusted,
                players=it.players,
                escrow=it.escrow,
                house=it.house,
                difference=it.difference,
            )
            for it in report.currencies
        ],
        verified_position=report.verified_position,
        waiting_hands=report.waiting_hands,
        duration_ms=report.duration_ms,
    )
