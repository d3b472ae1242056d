SELECT s.name AS "Parameter", pg_catalog.current_setting(s.name) AS "Value", s.vartype AS "Type", s.context AS "Context", pg_catalog.array_to_string(p.paracl, E'\n') AS "Access privileges"
FROM pg_catalog.pg_settings s
  LEFT JOIN pg_catalog.pg_parameter_acl p
  ON pg_catalog.lower(s.name) = p.parname
ORDER BY 1;
