SELECT sex, MODE() WITHIN GROUP (ORDER BY occupation) FROM people GROUP BY sex
