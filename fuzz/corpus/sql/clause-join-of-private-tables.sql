SELECT people.sex, AVG(visits.cost) FROM visits JOIN people ON visits.person_id = people.person_id GROUP BY people.sex
