SELECT sex, region, COUNT(*) FROM people GROUP BY GROUPING SETS ((sex), (region), ())
