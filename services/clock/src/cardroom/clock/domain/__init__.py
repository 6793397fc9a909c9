"""What the clock decides: what a due timer does, and what is left of a player's bank. Time is an argument."""
