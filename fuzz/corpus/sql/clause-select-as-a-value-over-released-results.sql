SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) AS visits_of_one FROM visits
