SELECT REGR_SYY(income, hours) FROM people
