SELECT width_bucket(age, 0, 100, 10), COUNT(*) FROM people GROUP BY 1 ORDER BY 1
