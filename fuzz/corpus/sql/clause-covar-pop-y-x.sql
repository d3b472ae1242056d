SELECT COVAR_POP(income, hours) FROM people
