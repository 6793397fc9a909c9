"""What a watcher may see, 30 seconds behind."""
