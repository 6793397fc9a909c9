"""The demo: a running card room, bots at its tables, and something to look at."""

from cardroom.local.demo.run import DemoOptions, run_demo

__all__ = ["DemoOptions", "run_demo"]
