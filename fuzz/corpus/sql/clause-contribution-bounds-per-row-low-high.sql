SELECT AVG(cost, contribution_bounds_per_row => (0, 100)) FROM visits
