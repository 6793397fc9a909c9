"""Runs the table service: `python -m cardroom.table`."""

from cardroom.chassis import service
from cardroom.table.app import build
from cardroom.table.settings import TableSettings

if __name__ == "__main__":
    service.run(build, TableSettings)
