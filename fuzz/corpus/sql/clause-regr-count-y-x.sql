SELECT REGR_COUNT(income, hours) FROM people
