"""The ledger's decisions: pure, synchronous, with time passed in."""
