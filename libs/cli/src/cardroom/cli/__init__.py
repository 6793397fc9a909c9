"""The cardroom command: play, replay, export, audit, demo."""
