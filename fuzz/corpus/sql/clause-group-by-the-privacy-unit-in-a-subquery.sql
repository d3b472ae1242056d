SELECT AVG(visits, contribution_bounds_per_row => (0, 20)) FROM (SELECT person_id, COUNT(*) AS visits FROM visits GROUP BY person_id) AS of_person
