SELECT region, sex, COUNT(*), GROUPING(region), GROUPING(sex) FROM people GROUP BY ROLLUP (region, sex)
