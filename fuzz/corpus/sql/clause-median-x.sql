SELECT MEDIAN(income) FROM people
