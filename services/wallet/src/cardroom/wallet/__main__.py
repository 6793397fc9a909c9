"""Starts the wallet: `python -m cardroom.wallet`."""

from __future__ import annotations

from cardroom.chassis import service
from cardroom.wallet.app import build
from cardroom.wallet.settings import WalletSettings

if __name__ == "__main__":
    service.run(build, WalletSettings)
