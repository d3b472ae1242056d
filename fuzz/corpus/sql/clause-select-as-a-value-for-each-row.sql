SELECT AVG(income) FROM people WHERE (SELECT COUNT(*) FROM visits WHERE visits.person_id = people.person_id) >= 3
