SELECT sex, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM people GROUP BY sex
