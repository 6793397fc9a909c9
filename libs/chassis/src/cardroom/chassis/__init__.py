"""What every cardroom service shares: settings, logs, metrics, traces, gRPC, database, events, leases."""
