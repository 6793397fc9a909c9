"""A grpc.aio channel that adds the caller's token and the trace to every call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

from cardroom.chassis import telemetry

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Span


class WrappedChannel(grpc.aio.Channel):
    """Passes everything to `inner`; its calls carry `authorization` and `traceparent`."""

    def __init__(self, inner: grpc.aio.Channel, token: Callable[[], str]) -> None:
        self._inner = inner
        self._token = token

    async def __aenter__(self) -> WrappedChannel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close(None)

    async def close(self, grace: float | None = None) -> None:
        """Close the channel; see grpc.aio.Channel."""
        await self._inner.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Return the state of the connection; see grpc.aio.Channel."""
        return self._inner.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait for another state; see grpc.aio.Channel."""
        await self._inner.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait for a connection; see grpc.aio.Channel."""
        await self._inner.channel_ready()

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; see grpc.aio.Channel."""
        return self._carrying(method, self._inner.unary_unary(method, *args, **kwargs))

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; see grpc.aio.Channel."""
        return self._carrying(method, self._inner.unary_stream(method, *args, **kwargs))

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; see grpc.aio.Channel."""
        return self._carrying(method, self._inner.stream_unary(method, *args, **kwargs))

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; see grpc.aio.Channel."""
        return self._carrying(method, self._inner.stream_stream(method, *args, **kwargs))

    def _carrying(self, method: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        token = self._token

        def call(request: Any = None, *, metadata: Any = None, **kwargs: Any) -> Any:
            span = telemetry.start_client_span(method)
            parent = telemetry.traceparent() if span is None else telemetry.traceparent_of(span)
            carried = list(metadata or ())
            if not any(key == "authorization" for key, _ in carried):
                carried.append(("authorization", f"Bearer {token()}"))
            if parent is not None:
                carried.append(("traceparent", parent))
            running = inner(request, metadata=tuple(carried), **kwargs)
            if span is not None:
                _end_with(span, running)
            return running

        return call


def _end_with(span: Span, running: Any) -> None:
    def over(_: Any) -> None:
        span.end()

    running.add_done_callback(over)
