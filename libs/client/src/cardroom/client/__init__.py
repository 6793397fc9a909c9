"""The Python client of cardroom: players, wallet users, watchers, and bots built on it."""
