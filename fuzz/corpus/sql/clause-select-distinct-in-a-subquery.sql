SELECT department, COUNT(*) FROM (SELECT DISTINCT person_id, department FROM visits) AS once GROUP BY department
