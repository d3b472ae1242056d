"""Clients that analysts use, against a server on loopback: psycopg 3, SQLAlchemy with pandas, ADBC.

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
        assert connection.execute("SELECT COUNT(*) AS n FROM people WHERE region = %s", ("x' OR '1'='1",)).fetchone()[0] < 100
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
for part in (psycopg_asks, sqlalchemy_and_pandas_ask, adbc_asks):
    part()
    print("ok", part.__name__, flush=True)
