-- What somebody who knows PostgreSQL types over a clinic's tables, written before trying. Each question ends with a semicolon at the end of its line.
-- A line `--= SELECT …` behind a question is the same in words of the engine, where the engine's own SQL says it otherwise; `--= none` where it cannot say it.

-- Counting
SELECT COUNT(*) FROM people;
SELECT count(*) AS visits, count(DISTINCT person_id) AS patients FROM visits;
SELECT sex, COUNT(*) FROM people GROUP BY sex ORDER BY 2 DESC;
SELECT region, sex, COUNT(*) AS n FROM people GROUP BY region, sex ORDER BY region, sex;
SELECT COUNT(*) FILTER (WHERE smoker) AS smokers, COUNT(*) FILTER (WHERE NOT smoker) AS others FROM people;
SELECT COUNT(income) AS with_income, COUNT(*) - COUNT(income) AS without FROM people;
SELECT COUNT(*) FROM people WHERE age BETWEEN 18 AND 65 AND region IN ('north', 'south');
SELECT COUNT(*) FROM people WHERE region LIKE 'n%' OR region ILIKE 'S%';
--= SELECT COUNT(*) FROM people WHERE region IN ('north', 'south')
SELECT COUNT(*) FROM people WHERE income IS NULL;
SELECT SUM(CASE WHEN smoker THEN 1 ELSE 0 END) AS smokers FROM people;
SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING COUNT(*) > 100;
SELECT department, COUNT(*) AS n FROM visits GROUP BY department ORDER BY n DESC LIMIT 3;
SELECT COUNT(DISTINCT department) AS departments FROM visits;
SELECT width_bucket(age, 0, 100, 10) AS bucket, COUNT(*) FROM people GROUP BY 1 ORDER BY 1;
--= SELECT CAST(floor(age / 10) AS BIGINT) + 1 AS bucket, COUNT(*) FROM people GROUP BY 1 ORDER BY 1
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS grp, COUNT(*) FROM people GROUP BY 1 ORDER BY 1;
SELECT age / 10 * 10 AS decade, COUNT(*) AS n FROM people GROUP BY decade ORDER BY decade;
SELECT smoker, sex, COUNT(*) FROM people GROUP BY ROLLUP (smoker, sex) ORDER BY smoker NULLS LAST, sex NULLS LAST;
SELECT coalesce(education, 'unknown') AS education, COUNT(*) FROM people GROUP BY 1 ORDER BY 1;
SELECT education IS NULL AS missing, COUNT(*) FROM people GROUP BY 1 ORDER BY 1;

-- Sums, averages, spreads
SELECT AVG(age) FROM people;
SELECT sex, AVG(age) AS age, AVG(income) AS income FROM people GROUP BY sex ORDER BY sex;
SELECT department, SUM(cost) AS cost, AVG(cost) AS mean FROM visits GROUP BY department ORDER BY department;
SELECT round(AVG(cost), 2) AS mean FROM visits;
SELECT AVG(cost)::numeric(10, 2) AS mean FROM visits;
SELECT AVG(income) FILTER (WHERE smoker) - AVG(income) FILTER (WHERE NOT smoker) AS difference FROM people;
SELECT STDDEV_POP(age) AS s, VAR_POP(age) AS v FROM people;
SELECT stddev(age) FROM people;
SELECT SUM(minutes) / 60.0 AS hours FROM visits;
SELECT SUM(minutes) / 60 AS hours FROM visits;
--= SELECT CAST(floor(SUM(minutes) / 60) AS BIGINT) FROM visits
SELECT SUM(minutes * cost) AS product FROM visits;
SELECT AVG(smoker::int) AS share FROM people;
SELECT AVG(CASE WHEN age >= 65 THEN 1.0 ELSE 0.0 END) AS seniors FROM people;
SELECT CORR(age, income) FROM people WHERE income IS NOT NULL;
SELECT REGR_SLOPE(income, age) FROM people;
SELECT SUM(cost) FILTER (WHERE department = 'heart') * 100.0 / SUM(cost) AS percent FROM visits;
SELECT AVG(LEAST(minutes, 60)) FROM visits;
SELECT AVG(minutes) FROM visits WHERE minutes > 0;
SELECT COUNT(*) * 1.0 / COUNT(DISTINCT person_id) AS visits_each FROM visits;
SELECT MIN(age) AS youngest, MAX(age) AS oldest FROM people;
--= none
SELECT MODE() WITHIN GROUP (ORDER BY education) FROM people;
--= none

-- Middles
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM people;
--= SELECT median(age) FROM people
SELECT sex, percentile_cont(0.5) WITHIN GROUP (ORDER BY age) AS median FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex;
--= SELECT sex, median(age) FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex
SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY cost) FROM visits;
--= none
SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY minutes) FROM visits;
--= none
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY born) FROM people;
--= none
SELECT MEDIAN(day) FROM visits;
--= none
SELECT MIN(day) AS first, MAX(day) AS last FROM visits;
--= none

-- Dates
SELECT date_trunc('month', day) AS month, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;
SELECT to_char(day, 'YYYY-MM') AS month, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
--= SELECT substr(CAST(date_trunc('month', day) AS VARCHAR), 1, 7) AS month, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1
SELECT EXTRACT(YEAR FROM day) AS year, EXTRACT(QUARTER FROM day) AS quarter, COUNT(*) FROM visits GROUP BY 1, 2 ORDER BY 1, 2;
SELECT EXTRACT(ISODOW FROM day) AS weekday, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;
--= SELECT CASE WHEN date_part('dow', day) = 0 THEN 7 ELSE date_part('dow', day) END AS weekday, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1
SELECT COUNT(*) FROM visits WHERE day >= DATE '2025-01-01' AND day < DATE '2025-04-01';
SELECT COUNT(*) FROM visits WHERE day >= '2025-01-01'::date - INTERVAL '30 days' AND day < '2025-01-01';
--= SELECT COUNT(*) FROM visits WHERE day >= '2024-12-02' AND day < '2025-01-01'
SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE - INTERVAL '90 days';
--= SELECT COUNT(*) FROM visits WHERE day > '2025-10-02'
SELECT COUNT(*) FROM people WHERE EXTRACT(YEAR FROM age(born)) >= 65;
--= none
SELECT AVG(EXTRACT(YEAR FROM age(DATE '2025-12-31', born)), contribution_bounds_per_row => (0, 110)) AS years FROM people;
--= none
SELECT AVG(DATE '2025-12-31' - born, contribution_bounds_per_row => (0, 40000)) / 365.25 AS years FROM people;
--= none
SELECT COUNT(*) FROM people WHERE born < DATE '1980-01-01';
SELECT EXTRACT(DECADE FROM born) * 10 AS decade, COUNT(*) FROM people GROUP BY 1 ORDER BY 1;
--= SELECT CAST(floor(date_part('year', born) / 10) * 10 AS BIGINT) AS decade, COUNT(*) FROM people GROUP BY 1 ORDER BY 1
SELECT (EXTRACT(YEAR FROM age(DATE '2025-12-31', born)) * 12 + EXTRACT(MONTH FROM age(DATE '2025-12-31', born))) / 12 AS years, COUNT(*) FROM people GROUP BY 1 ORDER BY 1;
--= none
SELECT date_trunc('week', day) AS week, COUNT(*) FROM visits WHERE day >= '2025-11-03' GROUP BY week ORDER BY week;
--= none
SELECT date_part('month', day) AS m, AVG(cost) FROM visits GROUP BY 1 ORDER BY 1;
SELECT date_trunc('year', day)::date AS year, SUM(cost) FROM visits GROUP BY 1 ORDER BY 1;
--= SELECT CAST(date_trunc('year', day) AS DATE) AS year, SUM(cost) FROM visits GROUP BY 1 ORDER BY 1
SELECT g.month, COALESCE(v.n, 0) AS n FROM generate_series(TIMESTAMP '2025-01-01', TIMESTAMP '2025-06-01', INTERVAL '1 month') AS g (month) LEFT JOIN (SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1) AS v ON v.month = g.month ORDER BY g.month;
--= SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits WHERE day >= '2025-01-01' AND day < '2025-07-01' GROUP BY 1 ORDER BY 1

-- One person's rows
SELECT AVG(n) AS mean FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS v WHERE n <= 100;
SELECT AVG(LEAST(n, 100)) AS mean FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS v;
SELECT n, COUNT(*) AS people FROM (SELECT person_id, LEAST(COUNT(*), 5) AS n FROM visits GROUP BY person_id) AS v GROUP BY n ORDER BY n;
SELECT COUNT(*) FROM (SELECT person_id FROM visits GROUP BY person_id HAVING COUNT(*) >= 3) AS frequent;
SELECT COUNT(*) FROM (SELECT person_id, SUM(cost) AS total FROM visits GROUP BY person_id) AS t WHERE total > 500;
SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM visits WHERE department = 'heart');
SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person_id = p.person_id);
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person_id = p.person_id) >= 3;
SELECT department, COUNT(*) FROM (SELECT DISTINCT person_id, department FROM visits) AS d GROUP BY department ORDER BY department;
SELECT department, COUNT(DISTINCT person_id) AS patients FROM visits GROUP BY department ORDER BY department;
SELECT department, COUNT(*) FROM (SELECT department, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY day, department, minutes, cost) AS k FROM visits) AS v WHERE k = 1 GROUP BY department ORDER BY department;
SELECT department, COUNT(*) FROM (SELECT DISTINCT ON (person_id) person_id, department FROM visits ORDER BY person_id, day, department, minutes, cost) AS first GROUP BY department ORDER BY department;
SELECT COUNT(*) FROM (SELECT day - LAG(day) OVER (PARTITION BY person_id ORDER BY day) AS gap FROM visits) AS g WHERE gap < 30;
--= none
SELECT COUNT(*) FROM (SELECT person_id, NTILE(4) OVER (PARTITION BY person_id ORDER BY cost, day, minutes) AS quarter FROM visits) AS q WHERE quarter = 1;
SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER (PARTITION BY person_id ORDER BY cost) AS r FROM visits) AS q WHERE r >= 0.5;
SELECT AVG(c) AS mean FROM (SELECT CUME_DIST() OVER (PARTITION BY person_id ORDER BY cost) AS c FROM visits) AS q;
SELECT COUNT(*) FROM (SELECT cost, AVG(cost) OVER (PARTITION BY person_id) AS own FROM visits) AS v WHERE cost > own;
--= none
SELECT COUNT(*) FROM (SELECT person_id, SUM(cost) OVER (PARTITION BY person_id ORDER BY day, minutes, cost ROWS UNBOUNDED PRECEDING) AS so_far FROM visits) AS v WHERE so_far > 300;
--= none
SELECT COUNT(*) FROM (SELECT person_id, bool_or(emergency) AS once FROM visits GROUP BY person_id) AS v WHERE once;
SELECT COUNT(*) FROM (SELECT person_id, MAX(day) - MIN(day) AS days FROM visits GROUP BY person_id) AS s WHERE days > 365;
--= none

-- Joins
SELECT p.sex, AVG(v.cost) AS mean FROM visits v JOIN people p ON p.person_id = v.person_id GROUP BY p.sex ORDER BY p.sex;
SELECT p.region, COUNT(*) FROM people p JOIN visits v USING (person_id) GROUP BY p.region ORDER BY p.region;
SELECT r.country, COUNT(*) AS n FROM people p JOIN regions r ON r.region = p.region GROUP BY r.country ORDER BY r.country;
SELECT p.sex, COUNT(v.person_id) AS visits FROM people p LEFT JOIN visits v ON v.person_id = p.person_id GROUP BY p.sex ORDER BY p.sex;
SELECT r.region, r.population, p.n * 1000.0 / r.population AS per_thousand FROM regions r JOIN (SELECT region, COUNT(*) AS n FROM people GROUP BY region) p ON p.region = r.region ORDER BY r.region;
SELECT r.region, COUNT(p.person_id) AS n FROM regions r LEFT JOIN people p ON p.region = r.region GROUP BY r.region ORDER BY r.region;
SELECT COUNT(*) FROM people p, visits v WHERE p.person_id = v.person_id AND p.smoker AND v.department = 'lungs';
SELECT department, AVG(age) FROM visits NATURAL JOIN people GROUP BY department ORDER BY department;
SELECT * FROM regions ORDER BY region;
SELECT country, SUM(population) AS people FROM regions GROUP BY country ORDER BY country;

-- Over results
SELECT region, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent FROM people GROUP BY region ORDER BY region;
SELECT department, SUM(cost) AS cost, RANK() OVER (ORDER BY SUM(cost) DESC) AS place FROM visits GROUP BY department ORDER BY department;
SELECT month, n, n - LAG(n) OVER (ORDER BY month) AS change FROM (SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1) AS m ORDER BY month;
SELECT month, 100.0 * (n - LAG(n) OVER (ORDER BY month)) / LAG(n) OVER (ORDER BY month) AS growth FROM (SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1) AS m ORDER BY month;
SELECT month, SUM(n) OVER (ORDER BY month) AS so_far FROM (SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1) AS m ORDER BY month;
SELECT month, AVG(n) OVER (ORDER BY month ROWS 2 PRECEDING) AS smooth FROM (SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1) AS m ORDER BY month;
WITH a AS (SELECT region, COUNT(*) AS n FROM people GROUP BY region), b AS (SELECT COUNT(*) AS total FROM people) SELECT region, n * 1.0 / total AS share FROM a CROSS JOIN b ORDER BY region;
SELECT region, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) AS share FROM people GROUP BY region ORDER BY region;
SELECT 'people' AS what, COUNT(*) AS n FROM people UNION ALL SELECT 'visits', COUNT(*) FROM visits;
SELECT DISTINCT education FROM people ORDER BY education;
--= none
SELECT sex, COUNT(*) FILTER (WHERE smoker) * 100.0 / NULLIF(COUNT(*), 0) AS percent FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex;
SELECT AVG(n) AS mean FROM (SELECT region, COUNT(*) AS n FROM people WHERE region IS NOT NULL GROUP BY region) AS r;
--= none
SELECT region, n, NTILE(2) OVER (ORDER BY n) AS half FROM (SELECT region, COUNT(*) AS n FROM people GROUP BY region) AS r ORDER BY region;
--= none

SELECT department, SUM(cost) AS cost, RANK() OVER w AS place FROM visits GROUP BY department WINDOW w AS (ORDER BY SUM(cost) DESC) ORDER BY department;
--= SELECT department, SUM(cost) AS cost, RANK() OVER (ORDER BY SUM(cost) DESC) AS place FROM visits GROUP BY department ORDER BY department
SELECT w.name, COUNT(*) AS n FROM people p JOIN (VALUES ('north', 'N'), ('south', 'S')) AS w (region, name) ON w.region = p.region GROUP BY w.name ORDER BY w.name;
SELECT COUNT(*) FROM visits v JOIN people p USING (person_id) WHERE p.age >= 65 AND v.emergency;

-- About the query itself
EXPLAIN SELECT region, COUNT(*) FROM people GROUP BY region;
--= none
EXPLAIN (FORMAT JSON) SELECT COUNT(*) FROM people;
--= none
