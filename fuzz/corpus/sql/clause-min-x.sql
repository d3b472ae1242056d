SELECT MIN(age) FROM people
