SELECT COUNT(*) FROM people WHERE region = ANY (ARRAY['Ashford', 'Dunmere']) AND age > ALL (ARRAY[18, 21])
