"""What the lobby decides: who gets a seat, how a stay goes on, which stakes are sound. No I/O; time is an argument."""
