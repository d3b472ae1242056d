# R, through the package RPostgreSQL, against a server on loopback.
# Arguments: host name, port, user, certificate. The token is in PGPASSWORD. Prints `ok` when everything was as it should be.

suppressPackageStartupMessages(library(RPostgreSQL))
given <- commandArgs(trailingOnly = TRUE)
address <- sprintf(
  "host=%s port=%s user=%s dbname=town sslmode=verify-full sslrootcert=%s options='-c deniable.epsilon=1'",
  given[1], given[2], given[3], given[4]
)
connection <- dbConnect(PostgreSQL(), dbname = address, password = Sys.getenv("PGPASSWORD"))

answer <- dbGetQuery(connection, "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region")
stopifnot(identical(names(answer), c("region", "n")), nrow(answer) >= 2, is.numeric(answer$n))
# The same question again is the saved answer.
stopifnot(identical(answer, dbGetQuery(connection, "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY region")))
stopifnot("people" %in% dbListTables(connection), dbExistsTable(connection, "people"))

rows <- suppressWarnings(try(dbGetQuery(connection, "SELECT * FROM people"), silent = TRUE))
stopifnot(is.null(rows) || inherits(rows, "try-error"))
dbDisconnect(connection)
cat("ok\n")
