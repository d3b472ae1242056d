SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE visits.person_id = people.person_id AND visits.department = 'cardiology')
