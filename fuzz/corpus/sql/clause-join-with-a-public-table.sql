SELECT regions.country, COUNT(*) FROM people JOIN regions ON people.region = regions.region GROUP BY regions.country
