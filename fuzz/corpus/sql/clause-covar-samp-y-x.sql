SELECT COVAR_SAMP(income, hours) FROM people
