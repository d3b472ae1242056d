SELECT COUNT(*) FROM people WHERE age >= 18 AND region IN ('Ashford', 'Dunmere')
