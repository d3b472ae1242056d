SELECT date_trunc('month', day) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY month
