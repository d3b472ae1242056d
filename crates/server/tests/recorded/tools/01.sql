SELECT version(), current_schema(), current_database(), current_user
