SELECT set_config('TimeZone', 'UTC', false)
