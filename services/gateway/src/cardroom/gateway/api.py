"""The gRPC face of identity: translate, authorise, call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cardroom.chassis import auth
from cardroom.contracts.identity.v1 import identity_pb2 as pb
from cardroom.contracts.identity.v1 import identity_pb2_grpc

if TYPE_CHECKING:
    import grpc

    from cardroom.gateway.identity import Identity, Issued
    from cardroom.gateway.store import Player

    Context = grpc.aio.ServicerContext[Any, Any]

SERVICE = "cardroom.identity.v1.IdentityService"
# Called before there is a token.
PUBLIC_METHODS = tuple(f"/{SERVICE}/{method}" for method in ("SignInAsGuest", "RefreshToken", "IssueServiceToken"))


class IdentityApi(identity_pb2_grpc.IdentityServiceServicer):
    """Answers IdentityService."""

    def __init__(self, identity: Identity) -> None:
        """Answer for `identity`."""
        self._identity = identity

    async def SignInAsGuest(self, request: pb.SignInAsGuestRequest, context: Context) -> pb.SignInAsGuestResponse:
        """Make a guest and sign them in."""
        player, issued = await self._identity.sign_in_guest(request.display_name, request.request_id)
        return pb.SignInAsGuestResponse(player=_player(player), tokens=_tokens(issued))

    async def RefreshToken(self, request: pb.RefreshTokenRequest, context: Context) -> pb.RefreshTokenResponse:
        """Trade a refresh token for a new pair."""
        player, issued = await self._identity.refresh(request.refresh_token)
        return pb.RefreshTokenResponse(player=_player(player), tokens=_tokens(issued))

    async def IssueServiceToken(
        self, request: pb.IssueServiceTokenRequest, context: Context
    ) -> pb.IssueServiceTokenResponse:
        """Give a service its token."""
        client, issued = self._identity.sign_in_service(request.client_id, request.client_secret)
        return pb.IssueServiceTokenResponse(tokens=_tokens(issued), scopes=client.scopes)

    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Context) -> pb.WhoAmIResponse:
        """Tell who the token says the caller is."""
        caller = auth.caller()
        answer = pb.WhoAmIResponse(subject=caller.subject, scopes=sorted(caller.scopes))
        player = None if caller.is_service else await self._identity.player(caller.subject)
        if player is not None:
            answer.player.CopyFrom(_player(player))
        return answer


def _player(player: Player) -> pb.Player:
    return pb.Player(player_id=player.player_id, display_name=player.display_name)


def _tokens(issued: Issued) -> pb.Tokens:
    return pb.Tokens(
        access_token=issued.access_token,
        expires_in_seconds=issued.expires_in_seconds,
        refresh_token=issued.refresh_token,
    )
