"""The demo's dealings with the wallet: the audits at the end, and a token for those who want to try its API."""

from __future__ import annotations

from cardroom.client import Client
from cardroom.contracts.identity.v1.identity_pb2 import IssueServiceTokenRequest, Tokens
from cardroom.contracts.identity.v1.identity_pb2_grpc import IdentityServiceStub
from cardroom.local.progress import Progress


async def audit_at_the_tables(client: Client, operator: tuple[str, str], progress: Progress) -> bool:
    """Check every chip while players sit: their chips are in escrow, which is empty once they have left."""
    answer = await client.service(*operator).audit(from_start=True)
    escrows = sum(check.checked for check in answer.checks if check.name == "escrow")
    for check in answer.checks:
        if not check.passed:
            progress.say(f"✗ {check.name:12} {check.rule} {check.first_failure}")
    mark, holds = ("✓", "holds") if answer.passed else ("✗", "does not hold")
    progress.say(f"{mark} with players at the tables the audit {holds} ({escrows} escrows checked)")
    return answer.passed


async def audit(client: Client, operator: tuple[str, str], progress: Progress) -> bool:
    """Check every chip from the first entry on, say each question's answer, and return whether all hold."""
    answer = await client.service(*operator).audit(from_start=True)
    for check in answer.checks:
        mark = "✓" if check.passed else "✗"
        progress.say(f"{mark} {check.name:12} {check.rule} ({check.checked} checked) {check.first_failure}".rstrip())
    for books in answer.currencies:
        progress.say(
            f"  {books.currency:12} granted {books.granted}, adjusted {books.adjusted}: "
            f"players {books.players}, at tables {books.escrow}"
        )
    progress.say("✓ the audit holds" if answer.passed else "✗ the audit does not hold")
    return answer.passed


async def sandbox_tokens(client: Client, sandbox: tuple[str, str]) -> Tokens:
    """A service token for the sandbox client, and how long it lives."""
    connection = client.anonymous()
    request = IssueServiceTokenRequest(client_id=sandbox[0], client_secret=sandbox[1])
    answer = await connection.call(IdentityServiceStub(connection.channel).IssueServiceToken, request)
    return answer.tokens
