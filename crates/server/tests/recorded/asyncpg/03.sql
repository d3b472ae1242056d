SELECT
                    set_config('jit', 'on', false)
