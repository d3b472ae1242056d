select 1 as a, true as b, 'x' as c, 1.5 as d
