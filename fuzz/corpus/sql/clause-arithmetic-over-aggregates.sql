SELECT department, SUM(cost) / COUNT(*) AS average FROM visits GROUP BY department
