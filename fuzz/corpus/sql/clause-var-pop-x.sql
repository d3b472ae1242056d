SELECT VAR_POP(hours) FROM people
