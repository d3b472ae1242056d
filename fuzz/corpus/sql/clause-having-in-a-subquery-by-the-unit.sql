SELECT COUNT(*) FROM (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY person_id HAVING COUNT(*) >= 3) AS frequent WHERE total > 500
