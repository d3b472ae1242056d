SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = PUBLIC_GROUPS) to_char(day, 'YYYY-MM') AS month, COUNT(*) FROM visits GROUP BY month
