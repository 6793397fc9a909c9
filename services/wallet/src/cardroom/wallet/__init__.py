"""Who has how many chips: the double-entry ledger."""
