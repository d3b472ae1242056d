SELECT MAX(hours) FROM people
