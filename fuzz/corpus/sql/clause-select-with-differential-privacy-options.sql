SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2, max_groups_contributed = 1) department, COUNT(*) FROM visits GROUP BY department
