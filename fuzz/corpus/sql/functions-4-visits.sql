SELECT COUNT(EXTRACT(YEAR FROM day)), COUNT(date_trunc('quarter', day)), COUNT(date_bin(INTERVAL '7 days', day, DATE '2024-01-01')), COUNT(to_char(day, 'YYYY-"Q"Q')) FROM visits
