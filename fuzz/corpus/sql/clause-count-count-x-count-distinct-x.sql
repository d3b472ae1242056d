SELECT COUNT(*), COUNT(income), APPROX_COUNT_DISTINCT(occupation), COUNTIF(age >= 18) FROM people
