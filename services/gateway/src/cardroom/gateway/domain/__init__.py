"""Decisions about names, sessions, clients and keys: pure, time passed in."""
