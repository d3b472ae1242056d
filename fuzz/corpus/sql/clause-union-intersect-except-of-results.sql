SELECT 'people' AS what, COUNT(*) AS n FROM people UNION ALL SELECT 'visits', COUNT(*) FROM visits
