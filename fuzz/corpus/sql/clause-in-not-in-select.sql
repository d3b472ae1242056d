SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM visits WHERE cost > 500) AND region IN (SELECT region FROM regions WHERE population > 100000)
