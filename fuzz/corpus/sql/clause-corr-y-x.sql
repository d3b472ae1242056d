SELECT CORR(income, hours) FROM people
