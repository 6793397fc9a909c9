"""What happens at a table, decided: pure functions over a table's state. Time, cards and chance are passed in."""
