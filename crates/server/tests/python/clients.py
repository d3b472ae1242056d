"""Clients that analysts use, against a server on loopback: psycopg 3, asyncpg, SQLAlchemy with pandas, ADBC.

Arguments: host name, port, user, certificate. The token is in PGPASSWORD. Prints `ok` for each part that did what it should.
"""

import datetime
import decimal
import sys
import warnings

host, port, user, certificate = sys.argv[1:5]
conninfo = (
    f"host={host} port={port} user={user} dbname=town sslmode=verify-full sslrootcert={certificate} "
    "options='-c deniable.epsilon=1'"
)


def named(rows):
    """The rows of groups that have a name: that of NULL is declared too, and empty."""
    return [row for row in rows if row[0] is not None and row[0] != "\\N"]


def psycopg_asks():
    import psycopg

    notices = []
    with psycopg.connect(conninfo) as connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        cursor = connection.execute("SELECT region, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY region ORDER BY region")
        rows = named(cursor.fetchall())
        assert [column.name for column in cursor.description] == ["region", "n", "age"], cursor.description
        assert [row[0] for row in rows] == ["north", "south", "west"], rows
        assert all(isinstance(row[1], int) and abs(row[1] - 667) < 100 for row in rows), rows
        assert all(isinstance(row[2], float) for row in rows), rows
        assert any("charge" in notice for notice in notices), notices
        first = rows

        # Parameters of every kind, bound by the server.
        sql = "SELECT COUNT(*) AS n FROM people WHERE age >= %s AND region = %s AND score < %s AND joined >= %s AND member = %s"
        values = (18, "north", 9.5, datetime.date(2024, 2, 1), True)
        once = connection.execute(sql, values).fetchone()
        again = connection.execute(sql, values, prepare=True).fetchone()
        assert once == again, (once, again)
        written = "SELECT COUNT(*) AS n FROM people WHERE age >= 18 AND region = 'north' AND score < 9.5 AND joined >= DATE '2024-02-01' AND member"
        assert abs(connection.execute(written).fetchone()[0] - once[0]) < 100
        assert connection.execute("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (unknown_values = true) COUNT(*) AS n FROM people WHERE region = %s", ("x' OR '1'='1",)).fetchone()[0] < 100
        assert abs(connection.execute("SELECT COUNT(*) FROM people WHERE score < %s", (decimal.Decimal("100"),)).fetchone()[0] - 2000) < 200

        # Binary results, dates and booleans.
        cursor = connection.cursor(binary=True)
        rows = named(cursor.execute("SELECT region, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY region ORDER BY region").fetchall())
        assert rows == first, (rows, first)
        rows = cursor.execute("SELECT member, COUNT(*) AS n FROM people GROUP BY member ORDER BY member").fetchall()
        assert [row[0] for row in rows] == [False, True], rows
        rows = cursor.execute("SELECT date_trunc('month', joined) AS month, COUNT(*) AS n FROM people GROUP BY month ORDER BY month").fetchall()
        rows = named(rows)
        assert len(rows) == 12 and rows[0][0].month == 1, rows

        # Copies, as text and in binary.
        with cursor.copy("COPY (SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region) TO STDOUT") as copy:
            copied = named(copy.rows())
        assert [row[0] for row in copied] == ["north", "south", "west"], copied
        with cursor.copy("COPY (SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["text", "int8"])
            binary = named(copy.rows())
        assert [(row[0], str(row[1])) for row in binary] == copied, (binary, copied)

        # A refusal is an error of SQL with a hint, and the connection goes on.
        connection.rollback()
        try:
            connection.execute("SELECT * FROM people")
            raise AssertionError("rows were handed out")
        except psycopg.Error as error:
            assert error.diag.message_hint, error
        connection.rollback()
        assert connection.execute("SELECT 1").fetchone() == (1,)
        # Parse and Describe charge nothing.
        before = connection.execute("SHOW deniable.epsilon").fetchone()
        assert before == ("1",), before


BY_REGION = "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region"


def charged(notices):
    """How many of these notices state a charge."""
    return sum(notice.startswith("charge") for notice in notices)


def psycopg_walks_through_cursors():
    import psycopg

    notices = []
    with psycopg.connect(conninfo) as connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        with connection.cursor(name="walk") as cursor:
            cursor.execute(BY_REGION)
            assert [column.name for column in cursor.description] == ["region", "n"], cursor.description
            rows = [cursor.fetchone(), *cursor.fetchmany(2), *cursor.fetchall()]
            assert cursor.fetchone() is None
        # The cursor asked once, and the plain query gets the saved answer.
        assert rows == connection.execute(BY_REGION).fetchall(), rows
        before = charged(notices)
        assert before <= 1, notices

        with connection.cursor(name="Scrolls", scrollable=True, binary=True) as cursor:
            cursor.execute(BY_REGION)
            cursor.scroll(2)
            assert cursor.fetchone() == rows[2]
            cursor.scroll(-2)
            assert cursor.fetchone() == rows[1]
            cursor.scroll(0, mode="absolute")
            cursor.itersize = 2
            assert list(cursor) == rows
        assert charged(notices) == before, notices

        with connection.cursor(name="bound") as cursor:
            cursor.execute("SELECT COUNT(*) AS n FROM people WHERE age >= %s AND region = %s", (18, "north"))
            once = cursor.fetchone()
            cursor.execute("SELECT COUNT(*) AS n FROM people WHERE age >= %s AND region = %s", (18, "north"))
            assert cursor.fetchone() == once
        assert charged(notices) == before + 1, notices

        # A cursor ends with its transaction, unless it is held.
        held = connection.cursor(name="held", withhold=True)
        held.execute(BY_REGION)
        lost = connection.cursor(name="lost")
        lost.execute("SELECT 1")
        connection.commit()
        assert held.fetchall() == rows
        held.close()
        try:
            lost.fetchone()
            raise AssertionError("a cursor outlived its transaction")
        except psycopg.Error as error:
            assert error.diag.message_hint, error
        connection.rollback()

    # Outside of a transaction only a held cursor is declared, and the other costs nothing.
    with psycopg.connect(conninfo, autocommit=True) as connection:
        with connection.cursor(name="held", withhold=True) as cursor:
            assert cursor.execute(BY_REGION).fetchall() == rows
        try:
            connection.execute("DECLARE c CURSOR FOR SELECT AVG(age) FROM people")
            raise AssertionError("a cursor without a transaction")
        except psycopg.Error as error:
            assert "nothing was charged" in error.diag.message_hint, error


def psycopg_prepares_many():
    import psycopg

    with psycopg.connect(conninfo, autocommit=True) as connection:
        # The driver forgets all but the last 20, and says so.
        connection.prepared_max = 20
        for number in range(300):
            assert connection.execute(f"SELECT {number}", prepare=True).fetchone() == (number,)
        connection.prepared_max = 10_000

        def prepared(count):
            """Which of so many statements of 250 KB are prepared. A connection has room for 16 MiB."""
            sql = f"SELECT '{'x' * 250_000}'".encode()
            results = [connection.pgconn.prepare(f"Large {number}".encode(), sql) for number in range(count)]
            return [result.status == psycopg.pq.ExecStatus.COMMAND_OK for result in results], results[-1].error_message

        # Each way to close them makes room for as many again.
        for close in ("DISCARD ALL", "DEALLOCATE ALL", None):
            kept, error = prepared(36)
            assert all(kept), (close, error)
            for name in [close] if close else [f'DEALLOCATE "Large {number}"' for number in range(36)]:
                assert connection.execute(name).statusmessage in (close, "DEALLOCATE")
        # Without closing them there is an end, and it is said.
        kept, error = prepared(72)
        assert kept[0] and not kept[-1] and b"memory" in error, (kept, error)
        connection.execute("DISCARD ALL")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def asyncpg_asks():
    import asyncio
    import ssl

    import asyncpg

    async def asks():
        context = ssl.create_default_context(cafile=certificate)
        settings = {"deniable.epsilon": "1"}
        where = {"host": host, "port": int(port), "user": user, "database": "town", "ssl": context, "server_settings": settings}
        connection = await asyncpg.connect(**where)
        notices = []
        connection.add_log_listener(lambda _, notice: notices.append(notice.message))
        # The driver asks for the type of each parameter, and takes no other.
        sql = "SELECT COUNT(*) AS n FROM people WHERE age >= $1 AND region = $2 AND score < $3 AND joined >= $4 AND member = $5"
        values = (18, "north", 9.5, datetime.date(2024, 2, 1), True)
        once = await connection.fetchval(sql, *values)
        assert isinstance(once, int) and once == await connection.fetchval(sql, *values)
        count = "SELECT COUNT(*) AS n FROM people WHERE age BETWEEN $1 AND $2 AND age IN ($3, 20 + $4, $5::int)"
        assert abs(await connection.fetchval(count, 0, 99, 1, 2, 3)) < 200
        assert await connection.fetchval("SELECT $1::int + 1", 41) == 42
        assert await connection.fetchval("SELECT $1::text", "42") == "42"
        # More statements than its cache holds: it closes the oldest.
        for number in range(300):
            assert await connection.fetchval(f"SELECT $1::int + {number}", 1) == number + 1
        # Cursors are portals that are run in parts.
        rows = [tuple(row) for row in await connection.fetch(BY_REGION)]
        for _ in range(3):
            async with connection.transaction():
                assert [tuple(row) async for row in connection.cursor(BY_REGION, prefetch=1)] == rows
                cursor = await connection.cursor(BY_REGION)
                assert tuple(await cursor.fetchrow()) == rows[0]
                assert [tuple(row) for row in await cursor.fetch(2)] == rows[1:3]
        await connection.close()
        async with asyncpg.create_pool(min_size=1, max_size=2, **where) as pool:
            for _ in range(3):
                assert await pool.fetchval("SELECT $1::int", 7) == 7

    asyncio.run(asks())


def sqlalchemy_and_pandas_ask():
    import pandas
    import sqlalchemy
    from sqlalchemy import text

    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://",
        connect_args={
            "host": host,
            "port": port,
            "user": user,
            "dbname": "town",
            "sslmode": "verify-full",
            "sslrootcert": certificate,
            "options": "-c deniable.epsilon=1 -c deniable.intervals=on",
        },
    )
    frame = pandas.read_sql(text("SELECT region, COUNT(*) AS n FROM people WHERE age < :age GROUP BY region ORDER BY region"), engine, params={"age": 50})
    assert list(frame.columns) == ["region", "n", "n_low", "n_high"], frame
    frame = frame.dropna(subset=["region"])
    assert (frame["n_low"] <= frame["n"]).all() and (frame["n"] <= frame["n_high"]).all(), frame
    inspector = sqlalchemy.inspect(engine)
    assert set(inspector.get_table_names()) == {"people", "regions"}, inspector.get_table_names()
    columns = {column["name"]: str(column["type"]) for column in inspector.get_columns("people")}
    assert columns["age"] == "BIGINT" and columns["joined"] == "DATE" and columns["member"] == "BOOLEAN", columns
    assert inspector.has_table("people") and not inspector.has_table("nobody")
    people = sqlalchemy.Table("people", sqlalchemy.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        query = sqlalchemy.select(people.c.region, sqlalchemy.func.count().label("n")).group_by(people.c.region)
        assert len(named(connection.execute(query).fetchall())) == 3
        # A cursor of the server.
        rows = connection.execute(query).fetchall()
        streaming = connection.execution_options(stream_results=True, yield_per=2)
        assert streaming.execute(query).fetchall() == rows
        assert [row for part in streaming.execute(query).partitions() for row in part] == rows


def adbc_asks():
    import adbc_driver_postgresql.dbapi

    uri = f"postgresql://{user}@{host}:{port}/town?sslmode=verify-full&sslrootcert={certificate}&options=-c%20deniable.epsilon%3D1"
    with adbc_driver_postgresql.dbapi.connect(uri) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT region, COUNT(*) AS n, AVG(score) AS score FROM people GROUP BY region ORDER BY region")
            table = cursor.fetch_arrow_table()
    assert table.column_names == ["region", "n", "score"], table
    assert [name for name in table.column("region").to_pylist() if name is not None] == ["north", "south", "west"], table
    assert str(table.schema.field("n").type) == "int64", table.schema


warnings.simplefilter("ignore")
parts = (
    psycopg_asks,
    psycopg_walks_through_cursors,
    psycopg_prepares_many,
    asyncpg_asks,
    sqlalchemy_and_pandas_ask,
    adbc_asks,
)
for part in parts:
    part()
    print("ok", part.__name__, flush=True)
