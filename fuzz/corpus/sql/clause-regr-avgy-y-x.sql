SELECT REGR_AVGY(income, hours) FROM people
