"""What stands before every handler: token, trace, metrics, decoding and errors, in one wrapper.

Five gRPC interceptors would each cost a task or a coroutine per call; this wraps each handler once, when it is
registered. A request is taken as bytes, so that one that cannot be decoded gets a clear answer.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import TYPE_CHECKING, Any, cast

import grpc
from google.protobuf.message import DecodeError

from cardroom.chassis import auth, logs, metrics, telemetry
from cardroom.chassis._classify import classify
from cardroom.chassis.errors import DETAILS_KEY, CardroomError, InvalidArgument, Unauthenticated, Unavailable, to_status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from prometheus_client import Counter, Gauge, Histogram

    Context = grpc.aio.ServicerContext[Any, Any]

log = logs.get("grpc")


class Guard:
    """Wraps handlers. One for a server; it knows the streams that are open, to end them at a stop."""

    def __init__(self, verifier: auth.TokenVerifier, public_methods: frozenset[str]) -> None:
        self._verifier = verifier
        self._public = public_methods
        self._streams: set[asyncio.Task[Any]] = set()
        self._stopping = False

    def wrap(self, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the handler to register instead of `handler`; `method` is its full name, `/package.Service/Method`."""
        if handler.request_streaming:
            raise TypeError(f"{method} takes a stream of requests, which the chassis does not serve")
        call = _Call(self, method, handler)
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(call.stream, None, handler.response_serializer)
        return grpc.unary_unary_rpc_method_handler(call.unary, None, handler.response_serializer)

    def end_streams(self) -> None:
        """End every open stream with UNAVAILABLE/SERVER_STOPPING, and refuse new calls."""
        self._stopping = True
        for task in self._streams:
            task.cancel()

    @property
    def stopping(self) -> bool:
        """Whether `end_streams` was called."""
        return self._stopping

    def joined(self, task: asyncio.Task[Any]) -> None:
        """Count a stream as open until its task is done."""
        self._streams.add(task)
        task.add_done_callback(self._streams.discard)

    async def admit(self, method: str, context: Context) -> str | None:
        """Set the caller of this call from its token; return its traceparent. Raises Unauthenticated."""
        token, traceparent = "", None
        for key, value in context.invocation_metadata() or ():
            if key == "authorization":
                token = auth.bearer(value)
            elif key == "traceparent":
                traceparent = value if isinstance(value, str) else None
        caller = self._verifier.cached(token)
        if caller is None:
            caller = await self._verify(method, token)
        auth.set_caller(caller)
        return traceparent

    async def _verify(self, method: str, token: str) -> auth.Caller | None:
        try:
            return await self._verifier.verify(token)
        except (Unauthenticated, Unavailable):
            # A method that needs no token does not mind a bad one either: a refresh comes with an expired one.
            if method in self._public:
                return None
            raise


class _Call:
    """One guarded method, with its metrics at hand."""

    def __init__(self, guard: Guard, method: str, handler: grpc.RpcMethodHandler[Any, Any]) -> None:
        self._guard = guard
        self._method = method
        self._decode: Callable[[bytes], Any] = handler.request_deserializer or bytes
        self._unary = cast("Callable[[Any, Context], Awaitable[Any]] | None", handler.unary_unary)
        self._stream = cast("Callable[[Any, Context], Any] | None", handler.unary_stream)
        self._seconds: Histogram = metrics.RPC_SECONDS.labels(method)
        self._open: Gauge = metrics.RPC_STREAMS.labels(method)
        self._ok: Counter = metrics.RPC_TOTAL.labels(method, "OK")

    async def unary(self, request: bytes, context: Context) -> Any:
        assert self._unary is not None
        started = time.perf_counter()
        try:
            traceparent = await self._guard.admit(self._method, context)
            message = self._parse(request)
            if telemetry.enabled():
                with telemetry.span(self._method, kind="server", parent=traceparent):
                    answer = await self._unary(message, context)
            else:
                telemetry.pass_on(traceparent)
                answer = await self._unary(message, context)
        except BaseException as error:
            await self._failed(error, context)
            raise
        else:
            self._ok.inc()
            return answer
        finally:
            self._seconds.observe(time.perf_counter() - started)

    async def stream(self, request: bytes, context: Context) -> AsyncIterator[Any]:
        assert self._stream is not None
        self._open.inc()
        try:
            self._join()
            traceparent = await self._guard.admit(self._method, context)
            message = self._parse(request)
            with telemetry.span(self._method, kind="server", parent=traceparent):
                telemetry.pass_on(traceparent)
                answers = self._stream(message, context)
                if inspect.isawaitable(answers):
                    await answers
                else:
                    async for answer in answers:
                        yield answer
        except BaseException as error:
            await self._failed(error, context)
            raise
        else:
            self._ok.inc()
        finally:
            self._open.dec()

    def _join(self) -> None:
        if self._guard.stopping:
            raise _stopping()
        task = asyncio.current_task()
        assert task is not None, "grpc.aio runs each call in a task"
        self._guard.joined(task)

    def _parse(self, request: bytes) -> Any:
        try:
            return self._decode(request)
        except (DecodeError, ValueError, RecursionError) as error:
            text = f"the {len(request)} bytes sent are not a valid request of {self._method}: send what its proto says"
            raise InvalidArgument("MALFORMED_MESSAGE", text, method=self._method) from error

    async def _failed(self, error: BaseException, context: Context) -> None:
        if isinstance(error, GeneratorExit):
            return
        if isinstance(error, grpc.aio.AbortError):
            self._count(context.code())
            return
        if isinstance(error, asyncio.CancelledError):
            if not self._guard.stopping:
                self._count(grpc.StatusCode.CANCELLED)
                return
            error = _stopping()
        if not isinstance(error, Exception):
            return
        refusal = classify(error)
        if refusal is None:
            refusal = self._unknown(error)
        self._count(refusal.code)
        await context.abort(refusal.code, refusal.message, ((DETAILS_KEY, to_status(refusal).SerializeToString()),))

    def _unknown(self, error: Exception) -> CardroomError:
        number = telemetry.trace_id()
        log.error("a handler failed", method=self._method, trace_id=number, exc_info=error)
        text = f"something went wrong on our side; it is in the logs under {number}"
        return CardroomError(grpc.StatusCode.INTERNAL, "INTERNAL_ERROR", text, trace_id=number)

    def _count(self, code: grpc.StatusCode | int | None) -> None:
        name = code.name if isinstance(code, grpc.StatusCode) else "UNKNOWN"
        metrics.RPC_TOTAL.labels(self._method, name).inc()


def _stopping() -> Unavailable:
    return Unavailable("SERVER_STOPPING", "this server is stopping: open the stream again")
