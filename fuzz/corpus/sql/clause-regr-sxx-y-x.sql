SELECT REGR_SXX(income, hours) FROM people
