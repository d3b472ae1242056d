SELECT sex, smoker, AVG(age), GROUPING(sex, smoker) FROM people GROUP BY CUBE (sex, smoker)
