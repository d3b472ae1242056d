SELECT STDDEV(hours) FROM people
