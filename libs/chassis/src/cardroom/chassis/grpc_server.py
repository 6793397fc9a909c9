"""The gRPC server of a service: every handler guarded, with health, reflection, limits and keepalive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from cardroom.chassis import logs
from cardroom.chassis._guard import Guard
from cardroom.chassis.errors import DETAILS_KEY, CardroomError, to_status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cardroom.chassis.auth import TokenVerifier
    from cardroom.chassis.settings import ServiceSettings

    GenericHandler = grpc.GenericRpcHandler[Any, Any]
    Handler = grpc.RpcMethodHandler[Any, Any]
    Service = tuple[Any, Callable[[Any, Any], None], str]

MAX_REQUEST_BYTES: Final = 1024 * 1024
MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
# What the edge lets through at most, so that nothing is refused here that has no clear answer.
MAX_METADATA_BYTES: Final = 64 * 1024
OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_send_message_length", MAX_ANSWER_BYTES),
    ("grpc.max_metadata_size", MAX_METADATA_BYTES),
    # Two processes on one port would share its connections unnoticed.
    ("grpc.so_reuseport", 0),
    # A peer that is dead is noticed within 15 s: players without a connection must be known (rule 9.5).
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # This is what the answer to a ping is waited for; without it, a minute.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
)

log = logs.get("grpc")


class GrpcServer:
    """A guarded grpc.aio server. A part of an `App`: `start()` binds and serves, `stop()` drains.

    `services` are (servicer, the generated `add_..._to_server`, full service name). `public_methods` are full method
    names (`/cardroom.identity.v1.IdentityService/SignInAsGuest`) that need no token. `generic_handlers` serve methods
    by name with serializers of their own, for bytes that are passed on as they are; they are guarded like the others.
    `described` are names of services elsewhere that reflection describes too, for those who ask at the edge.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        services: Sequence[Service],
        verifier: TokenVerifier,
        *,
        public_methods: Iterable[str] = (),
        generic_handlers: Sequence[GenericHandler] = (),
        described: Sequence[str] = (),
    ) -> None:
        self._address = f"{settings.grpc_host}:{settings.grpc_port}"
        self._guard = Guard(verifier, frozenset(public_methods))
        self._names = [name for _, _, name in services]
        self._described = [name for name in described if name not in self._names]
        self._routes = _Routes(self._guard, generic_handlers, self._names)
        for servicer, add, _ in services:
            add(servicer, self._routes)
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]
        self._server: grpc.aio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Bind the port and serve; the health service says SERVING. Raises RuntimeError when the port is taken."""
        server = grpc.aio.server(options=OPTIONS)
        server.add_generic_rpc_handlers((self._routes,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = (*self._names, *self._described, reflection.SERVICE_NAME, health.SERVICE_NAME)
        reflection.enable_server_reflection(names, server)
        self.port = server.add_insecure_port(self._address)
        await server.start()
        self._server = server
        await self._report(health_pb2.HealthCheckResponse.SERVING)
        log.info("gRPC is served", port=self.port, services=self._names)

    async def drain(self) -> None:
        """Say NOT_SERVING, so that nobody sends new work here; what runs goes on."""
        if self._server is not None:
            await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def stop(self, grace: float = 3.0) -> None:
        """Take no new calls, end the streams, give unary calls `grace` seconds to finish, and close."""
        server, self._server = self._server, None
        if server is None:
            return
        await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)
        self._guard.end_streams()
        await self._health.enter_graceful_shutdown()
        await server.stop(grace)

    async def _report(self, status: health_pb2.HealthCheckResponse.ServingStatus.ValueType) -> None:
        for name in ("", *self._names):
            await self._health.set(name, status)


class _Routes(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in the stubs only
    """Finds the guarded handler of a method. Stands in for a server while generated code adds its handlers."""

    def __init__(self, guard: Guard, generic_handlers: Sequence[GenericHandler], services: Sequence[str]) -> None:
        self._guard = guard
        self._generic = generic_handlers
        self._services = frozenset(services)
        self._by_method: dict[str, Handler] = {}

    def add_generic_rpc_handlers(self, handlers: Sequence[GenericHandler]) -> None:
        """Ignore them: the same handlers come as registered ones, with their names."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Guard the handlers of one service."""
        for name, handler in handlers.items():
            method = f"/{service}/{name}"
            self._by_method[method] = self._guard.wrap(method, handler)

    def service(self, details: grpc.HandlerCallDetails) -> Handler | None:
        """Return the handler for a call, or None if this server does not know the method."""
        method = str(details.method)
        known = self._by_method.get(method)
        if known is not None:
            return known
        for generic in self._generic:
            handler = generic.service(details)
            if handler is not None:
                self._by_method[method] = self._guard.wrap(method, handler)
                return self._by_method[method]
        return _UNKNOWN if method.rpartition("/")[0].removeprefix("/") in self._services else None


async def _refuse_unknown(_: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
    """Answer a method that a service of this server does not have; gRPC's own answer has no ErrorInfo."""
    refusal = CardroomError(
        grpc.StatusCode.UNIMPLEMENTED, "METHOD_UNKNOWN", "there is no such method: see the protos for what there is"
    )
    await context.abort(refusal.code, refusal.message, ((DETAILS_KEY, to_status(refusal).SerializeToString()),))
    raise AssertionError("unreachable")


_UNKNOWN: Final = grpc.unary_unary_rpc_method_handler(_refuse_unknown)
