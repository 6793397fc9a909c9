"""Every way in which bringing cardroom up on one machine can fail."""


class LocalError(Exception):
    """The base of what this package raises on purpose."""


class SettingInvalid(LocalError):
    """An environment variable holds a value that is not allowed."""


class ProgramMissing(LocalError):
    """A program is not on this machine and could not be installed either."""


class EngineFailed(LocalError):
    """A Docker command did not succeed."""


class StartFailed(LocalError):
    """A process ended, or was not ready in time; the message carries the end of its log."""


class RunInvalid(LocalError):
    """A stack was asked for something that it does not have, or is not running."""
