WITH adults AS (SELECT * FROM people WHERE age >= 18) SELECT education, AVG(income) FROM adults GROUP BY education
