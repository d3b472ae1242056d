SELECT REGR_SXY(income, hours) FROM people
