"""Pool and migrations against a real database."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from cardroom.chassis import database
from cardroom.chassis._classify import is_transient
from cardroom.chassis.errors import SettingsError, Unavailable
from cardroom.chassis.settings import ServiceSettings
from tests.processes import running

Fresh = Callable[[], Awaitable[str]]


@pytest.fixture
def package(tmp_path: Path) -> Iterator[str]:
    """An importable package with two migrations, the second with a function in it."""
    name = f"migrating_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name / "migrations"
    folder.mkdir(parents=True)
    (tmp_path / name / "__init__.py").touch()
    (folder / "0001.chips.sql").write_text(
        "CREATE TABLE chips (id bigint PRIMARY KEY, amount bigint);\nSELECT pg_sleep(0.2);"
    )
    (folder / "0002.guard.sql").write_text(
        "-- depends: 0001.chips\n"
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN\n"
        "  IF NEW.amount < 0 THEN RAISE EXCEPTION 'negative: %', NEW.amount; END IF; RETURN NEW; END $$;\n"
        "CREATE TRIGGER refuse BEFORE INSERT ON chips FOR EACH ROW EXECUTE FUNCTION refuse();\n"
    )
    sys.path.insert(0, str(tmp_path))
    yield name
    sys.path.remove(str(tmp_path))
    sys.modules.pop(name, None)


async def test_two_replicas_that_migrate_together_both_succeed_and_one_works(
    fresh_database: Fresh, package: str
) -> None:
    url = await fresh_database()
    counts = await asyncio.gather(*(database.migrate(url, package) for _ in range(3)))
    assert sorted(counts) == [0, 0, 2]
    conn = await asyncpg.connect(url)
    try:
        with pytest.raises(asyncpg.RaiseError, match="negative: -1"):
            await conn.execute("INSERT INTO chips VALUES (1, -1)")
    finally:
        await conn.close()


async def test_who_finds_nothing_to_migrate_does_not_load_what_migrates(
    fresh_database: Fresh, package: str, tmp_path: Path
) -> None:
    url = await fresh_database()
    code = f"import asyncio, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += f"from cardroom.chassis import database; print(asyncio.run(database.migrate({url!r}, {package!r})), "
    code += "'yoyo' in sys.modules)"
    for said in (b"2 True", b"0 False"):
        async with running(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE) as process:
            output, _ = await process.communicate()
        assert output.splitlines()[-1] == said
    (tmp_path / package / "migrations" / "0003.more.sql").write_text("-- depends: 0002.guard\nCREATE TABLE more ();")
    assert await database.migrate(url, package) == 1


async def test_a_lock_that_a_killed_process_left_does_not_block(fresh_database: Fresh, package: str) -> None:
    url = await fresh_database()
    await database.migrate(url, package)
    conn = await asyncpg.connect(url)
    await conn.execute("INSERT INTO yoyo_lock (locked, ctime, pid) VALUES (1, now(), 4242)")
    await conn.close()
    assert await asyncio.wait_for(database.migrate(url, package), 30) == 0


async def test_a_migration_that_fails_is_an_error_and_changes_nothing(
    fresh_database: Fresh, package: str, tmp_path: Path
) -> None:
    url = await fresh_database()
    broken = tmp_path / package / "migrations" / "0003.broken.sql"
    broken.write_text("-- depends: 0002.guard\nCREATE TABLE half (id int);\nSELECT no_such_thing;")
    with pytest.raises(Exception, match="no_such_thing"):
        await database.migrate(url, package)
    conn = await asyncpg.connect(url)
    assert await conn.fetchval("SELECT to_regclass('half')") is None
    await conn.close()
    broken.unlink()
    assert await database.migrate(url, package) == 2, "not even the good ones before it"


async def test_a_process_killed_on_the_way_leaves_the_database_as_it_was(
    fresh_database: Fresh, package: str, tmp_path: Path
) -> None:
    url = await fresh_database()
    slow = tmp_path / package / "migrations" / "0003.slow.sql"
    slow.write_text("-- depends: 0002.guard\nCREATE TABLE slow (id int);\nSELECT pg_sleep(60);")
    code = f"import asyncio, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += f"from cardroom.chassis import database; asyncio.run(database.migrate({url!r}, {package!r}))"
    conn = await asyncpg.connect(url)
    sleeping = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(60)%'"
    )
    # It is killed when this block ends.
    async with running(sys.executable, "-c", code), asyncio.timeout(30):
        while await conn.fetchval(sleeping) < 2:  # noqa: ASYNC110 - the other process; this query counts itself
            await asyncio.sleep(0.05)
    await conn.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    slow.unlink()
    assert await database.migrate(url, package) == 2
    assert await conn.fetchval("SELECT to_regclass('slow')") is None
    await conn.close()


async def test_a_database_that_is_not_there_is_waited_for_and_then_given_up(package: str) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    with pytest.raises(Unavailable, match="did not answer"):
        await database.migrate(url, package, wait_seconds=0)
    with pytest.raises(Unavailable, match="did not answer"):
        await database.open_pool(ServiceSettings(database_url=url, startup_seconds=0))
    with pytest.raises(SettingsError, match="CARDROOM_SERVICE_DATABASE_URL"):
        await database.open_pool(ServiceSettings(database_url=""))


async def test_sessions_of_the_pool_do_not_keep_locks_when_their_process_stalls(fresh_database: Fresh) -> None:
    settings = ServiceSettings(database_url=await fresh_database(), database_idle_in_transaction_ms=200)
    pool = await database.open_pool(settings)
    async with pool.acquire() as conn:
        await conn.execute("BEGIN")
        await asyncio.sleep(0.4)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await conn.fetchval("SELECT 1")
    await pool.close()


async def test_a_session_is_handed_back_without_a_word_but_never_within_a_transaction(fresh_database: Fresh) -> None:
    pool = await database.open_pool(ServiceSettings(database_url=await fresh_database()), max_size=1)
    try:
        async with pool.acquire() as conn:
            await conn.execute("BEGIN; CREATE TABLE undone ()")
            pid = conn.get_server_pid()
        assert await pool.fetchval("SELECT to_regclass('undone')") is None
        assert await pool.fetchval("SELECT 1 AS last") == 1
        watching = await asyncpg.connect(await fresh_database())
        asked = "SELECT query FROM pg_stat_activity WHERE pid = $1"
        assert await watching.fetchval(asked, pid) == "SELECT 1 AS last"
        await watching.close()
    finally:
        await pool.close()


async def test_whatever_asyncpg_says_of_sessions_that_the_server_ended_is_worth_another_try(
    fresh_database: Fresh,
) -> None:
    url = await fresh_database()
    pool = await database.open_pool(ServiceSettings(database_url=url), max_size=4)
    admin = await asyncpg.connect(url)
    odd: list[Exception] = []

    async def ask() -> None:
        try:
            await pool.fetchval("select 1")
        except Exception as error:
            if not is_transient(error):
                odd.append(error)

    for _ in range(40):
        await asyncio.gather(*[ask() for _ in range(4)])
        await admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'card%'"
        )
        await asyncio.gather(*[ask() for _ in range(4)])
    await admin.close()
    await pool.close()
    assert odd == []
