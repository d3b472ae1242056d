SELECT department, SUM(cost) FROM visits GROUP BY department
