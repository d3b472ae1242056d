SELECT AVG(age) FROM people
