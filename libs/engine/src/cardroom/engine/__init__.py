"""Poker hands, refereed: pure, typed, no I/O."""
