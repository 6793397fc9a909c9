"""When time is up: durable turn clocks, time banks and deal timers."""
