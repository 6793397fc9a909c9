"""The whole of cardroom on one machine: Postgres, RabbitMQ, Envoy and every service, started and stopped together."""

from cardroom.local.errors import EngineFailed, LocalError, ProgramMissing, RunInvalid, SettingInvalid, StartFailed
from cardroom.local.plan import StackOptions
from cardroom.local.progress import Progress
from cardroom.local.stack import Stack

__all__ = [
    "EngineFailed",
    "LocalError",
    "ProgramMissing",
    "Progress",
    "RunInvalid",
    "SettingInvalid",
    "Stack",
    "StackOptions",
    "StartFailed",
]
