"""What clients can reach through the edge: public services, and how each of their methods is treated.

A service that is not listed here cannot be reached: table seats and table time are for cardroom's own services only.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module, resources
from typing import Final

from google.api import annotations_pb2
from google.protobuf import descriptor_pb2

PUBLIC: Final = {
    "cardroom.identity.v1.IdentityService": "gateway",
    "cardroom.lobby.v1.LobbyService": "lobby",
    "cardroom.lobby.v1.LobbyAdminService": "lobby",
    "cardroom.lobby.v1.WaitingService": "lobby",
    "cardroom.table.v1.TableService": "table",
    "cardroom.wallet.v1.WalletService": "wallet",
    "cardroom.wallet.v1.LedgerService": "wallet",
    "cardroom.clock.v1.ClockService": "clock",
    "cardroom.spectator.v1.SpectatorService": "spectator",
}
# Called before there is a token; they have a rate limit of their own.
SIGN_IN: Final = (
    "/cardroom.identity.v1.IdentityService/SignInAsGuest",
    "/cardroom.identity.v1.IdentityService/RefreshToken",
    "/cardroom.identity.v1.IdentityService/IssueServiceToken",
)
# Answered by the gateway for everyone, without a token.
TOOLS: Final = (
    "/grpc.health.v1.Health/",
    # Tools ask for v1 first; the gateway then says that it has only v1alpha, and they go on with that.
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
)


@dataclass(frozen=True, slots=True)
class PublicService:
    """One service that clients can reach."""

    name: str
    cluster: str
    streams: tuple[str, ...]
    has_json: bool


def public_services(descriptors: bytes) -> list[PublicService]:
    """Return the public services that the descriptor set knows, in the order of `PUBLIC`."""
    found = {}
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
        for service in file.service:
            found[f"{file.package}.{service.name}"] = service
    return [_describe(name, cluster, found[name]) for name, cluster in PUBLIC.items() if name in found]


def load_public_services() -> list[str]:
    """Make the descriptors of every public service known to this process; return the services' names."""
    descriptors = descriptor_set()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
        if file.name.startswith("cardroom/"):
            area, version, name = file.name.removeprefix("cardroom/").removesuffix(".proto").split("/")
            import_module(f"cardroom.contracts.{area}.{version}.{name}_pb2")
    return [service.name for service in public_services(descriptors)]


def descriptor_set() -> bytes:
    """Return the descriptors of every contract, as `cardroom.contracts` ships them."""
    return (resources.files("cardroom.contracts") / "descriptors.binpb").read_bytes()


def _describe(name: str, cluster: str, service: descriptor_pb2.ServiceDescriptorProto) -> PublicService:
    return PublicService(
        name,
        cluster,
        tuple(f"/{name}/{method.name}" for method in service.method if method.server_streaming),
        any(method.options.HasExtension(annotations_pb2.http) for method in service.method),
    )
