"""Deals and referees every hand, and keeps every stack at the table."""
