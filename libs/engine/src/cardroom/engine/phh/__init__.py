"""PHH, the open format for poker hand histories: reading, replaying through the engine, and writing.

`.phh` holds one hand, `.phhs` many. Variants NT (no-limit hold'em) and PO (pot-limit Omaha). Players are p1 to pN, left
of the button first, as everywhere inside the engine. See https://phh.readthedocs.io.
"""

from cardroom.engine.phh.documents import PhhHand, dumps, loads, read
from cardroom.engine.phh.exporting import export
from cardroom.engine.phh.replaying import Decision, ReplayResult, replay

__all__ = ["Decision", "PhhHand", "ReplayResult", "dumps", "export", "loads", "read", "replay"]
