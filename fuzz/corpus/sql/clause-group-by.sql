SELECT region, sex, COUNT(*) FROM people GROUP BY region, sex
