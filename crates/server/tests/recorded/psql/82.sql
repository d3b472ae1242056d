select current_user, session_user, current_database(), current_schema;
