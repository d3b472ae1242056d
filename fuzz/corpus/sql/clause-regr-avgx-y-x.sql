SELECT REGR_AVGX(income, hours) FROM people
