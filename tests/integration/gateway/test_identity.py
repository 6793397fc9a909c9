"""Design §7: guest sign-in, refresh with rotation, service tokens; on a real database."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
import grpc
import pytest

from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.errors import CardroomError, from_rpc_error
from cardroom.contracts.identity.v1 import identity_pb2 as pb
from cardroom.gateway.app import utc_now
from cardroom.gateway.store import Store

Start = Callable[..., Awaitable[Any]]


async def refusal(call: Awaitable[Any]) -> CardroomError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return from_rpc_error(raised.value)


async def sign_in(gateway: Any, name: str = "Ada", request_id: str = "") -> pb.SignInAsGuestResponse:
    answer: pb.SignInAsGuestResponse = await gateway.stub.SignInAsGuest(
        pb.SignInAsGuestRequest(display_name=name, request_id=request_id)
    )
    return answer


async def refresh(gateway: Any, token: str) -> pb.RefreshTokenResponse:
    answer: pb.RefreshTokenResponse = await gateway.stub.RefreshToken(pb.RefreshTokenRequest(refresh_token=token))
    return answer


def bearer(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")]


async def age(gateway: Any, statement: str, by: timedelta) -> None:
    """Make what the database remembers older, instead of waiting."""
    connection = await asyncpg.connect(gateway.settings.database_url)
    await connection.execute(statement, by)
    await connection.close()


async def players(gateway: Any) -> int:
    """How many players there are."""
    connection = await asyncpg.connect(gateway.settings.database_url)
    count: int = await connection.fetchval("select count(*) from players")
    await connection.close()
    return count


async def test_a_guest_gets_a_token_that_services_accept(gateway: Any) -> None:
    answer = await sign_in(gateway, "Ada")
    verifier = TokenVerifier(gateway.settings.model_copy(update={"jwks_url": gateway.jwks_url}))
    caller = await verifier.verify(answer.tokens.access_token)
    assert caller.player_id == answer.player.player_id
    assert caller.scopes == {"play"}
    assert answer.tokens.expires_in_seconds == 900


async def test_who_am_i(gateway: Any) -> None:
    answer = await sign_in(gateway, "Ada")
    me = await gateway.stub.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(answer.tokens.access_token))
    assert (me.subject, me.player.display_name, list(me.scopes)) == (answer.player.player_id, "Ada", ["play"])
    assert (await refusal(gateway.stub.WhoAmI(pb.WhoAmIRequest()))).reason == "TOKEN_MISSING"
    bad = await refusal(gateway.stub.WhoAmI(pb.WhoAmIRequest(), metadata=bearer("a.b.c")))
    assert bad.reason == "TOKEN_INVALID"


async def test_a_guest_without_a_name_gets_one(gateway: Any) -> None:
    assert (await sign_in(gateway, "")).player.display_name


@pytest.mark.parametrize("name", ["   ", "x" * 25, "<b>", "a\nb", "a  b"])
async def test_a_bad_name_is_refused(gateway: Any, name: str) -> None:
    error = await refusal(gateway.stub.SignInAsGuest(pb.SignInAsGuestRequest(display_name=name)))
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_DISPLAY_NAME")


async def test_a_repeated_sign_in_is_the_same_player(gateway: Any) -> None:
    request_id = str(uuid.uuid4())
    before = await players(gateway)
    answers = await asyncio.gather(*(sign_in(gateway, "Ada", request_id) for _ in range(8)))
    assert len({answer.player.player_id for answer in answers}) == 1
    assert len({answer.tokens.refresh_token for answer in answers}) == 8
    error = await refusal(sign_in(gateway, "Bob", request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
    assert await players(gateway) == before + 1


async def test_after_ten_minutes_the_request_id_makes_another_player(gateway: Any) -> None:
    request_id = str(uuid.uuid4())
    first = await sign_in(gateway, "Ada", request_id)
    await age(gateway, "update guest_sign_ins set created_at = created_at - $1::interval", timedelta(minutes=11))
    assert (await sign_in(gateway, "Ada", request_id)).player.player_id != first.player.player_id


async def test_a_request_id_that_is_no_uuid_is_refused(gateway: Any) -> None:
    assert (await refusal(sign_in(gateway, "Ada", "7"))).reason == "INVALID_REQUEST_ID"


async def test_a_refresh_token_gives_a_new_pair_for_the_same_player(gateway: Any) -> None:
    first = await sign_in(gateway)
    second = await refresh(gateway, first.tokens.refresh_token)
    assert second.player == first.player
    assert second.tokens.refresh_token != first.tokens.refresh_token
    third = await refresh(gateway, second.tokens.refresh_token)
    assert third.player == first.player


async def test_a_lost_answer_can_be_asked_for_again(gateway: Any) -> None:
    first = await sign_in(gateway)
    answers = await asyncio.gather(*(refresh(gateway, first.tokens.refresh_token) for _ in range(4)))
    for answer in answers:
        await refresh(gateway, answer.tokens.refresh_token)


async def test_a_spent_token_used_later_signs_the_session_out(gateway: Any) -> None:
    first = await sign_in(gateway)
    second = await refresh(gateway, first.tokens.refresh_token)
    await age(gateway, "update refresh_tokens set spent_at = spent_at - $1::interval", timedelta(seconds=61))
    for token in (first.tokens.refresh_token, second.tokens.refresh_token):
        error = await refusal(refresh(gateway, token))
        assert (error.code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, "REFRESH_TOKEN_INVALID")


async def test_an_expired_or_unknown_refresh_token_is_refused(gateway: Any) -> None:
    first = await sign_in(gateway)
    await age(gateway, "update refresh_tokens set expires_at = expires_at - $1::interval", timedelta(days=31))
    assert (await refusal(refresh(gateway, first.tokens.refresh_token))).reason == "REFRESH_TOKEN_INVALID"
    assert (await refusal(refresh(gateway, "nonsense"))).reason == "REFRESH_TOKEN_INVALID"


async def test_tokens_are_not_stored(gateway: Any) -> None:
    first = await sign_in(gateway)
    connection = await asyncpg.connect(gateway.settings.database_url)
    rows = await connection.fetch("select * from refresh_tokens, sessions, players, signing_keys")
    await connection.close()
    assert rows
    assert first.tokens.refresh_token not in repr(rows)
    assert '"d"' not in repr(rows), "no private key lies open"


async def test_a_service_signs_in_with_its_secret(gateway: Any) -> None:
    answer = await gateway.stub.IssueServiceToken(
        pb.IssueServiceTokenRequest(client_id="wallet-team", client_secret="wallet-team-secret")
    )
    assert list(answer.scopes) == ["wallet.read", "wallet.hold"]
    assert (answer.tokens.expires_in_seconds, answer.tokens.refresh_token) == (3600, "")
    me = await gateway.stub.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(answer.tokens.access_token))
    assert (me.subject, me.HasField("player")) == ("service:wallet-team", False)


@pytest.mark.parametrize(
    ("client_id", "secret"), [("wallet-team", "wrong"), ("nobody", "wallet-team-secret"), ("", "")]
)
async def test_a_wrong_secret_is_refused(gateway: Any, client_id: str, secret: str) -> None:
    request = pb.IssueServiceTokenRequest(client_id=client_id, client_secret=secret)
    error = await refusal(gateway.stub.IssueServiceToken(request))
    assert (error.code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, "CLIENT_UNKNOWN")
    assert secret not in error.message or not secret


async def test_what_is_over_is_purged(start_gateway: Start) -> None:
    gateway = await start_gateway()
    first, second = await sign_in(gateway, "Ada", str(uuid.uuid4())), await sign_in(gateway, "Bob")
    async with asyncpg.create_pool(gateway.settings.database_url, min_size=1) as pool:
        await pool.execute(
            "update refresh_tokens set expires_at = sessions.created_at from sessions join players using (player_id)"
            " where refresh_tokens.session_id = sessions.session_id and display_name = 'Ada'"
        )
        await pool.execute("update guest_sign_ins set created_at = created_at - interval '11 minutes'")
        await Store(pool).purge(utc_now())
        counts = [await pool.fetchval(f"select count(*) from {name}") for name in ("sessions", "guest_sign_ins")]
    assert counts == [1, 0]
    assert (await refusal(refresh(gateway, first.tokens.refresh_token))).reason == "REFRESH_TOKEN_INVALID"
    await refresh(gateway, second.tokens.refresh_token)
