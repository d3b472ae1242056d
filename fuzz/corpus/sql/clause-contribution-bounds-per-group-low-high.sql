SELECT department, SUM(cost, contribution_bounds_per_group => (0, 500)) FROM visits GROUP BY department
