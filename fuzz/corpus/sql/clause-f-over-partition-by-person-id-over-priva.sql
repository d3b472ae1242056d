SELECT department, COUNT(*) FROM (SELECT person_id, department, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY day) AS visit FROM visits) AS numbered WHERE visit = 1 GROUP BY department
