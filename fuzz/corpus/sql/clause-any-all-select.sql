SELECT COUNT(*) FROM people WHERE hours > ALL (SELECT minutes FROM visits WHERE visits.person_id = people.person_id)
