SELECT occupation, AVG(hours) AS hours FROM people GROUP BY occupation HAVING COUNT(*) > 100 ORDER BY hours DESC LIMIT 3
