"""What a watcher may see, and when: pure, no I/O, time passed in."""
