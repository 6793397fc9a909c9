"""Bots that play a sane game of no-limit hold'em, each as a real client through the gateway."""

from cardroom.client.bots.decide import Style, decide
from cardroom.client.bots.player import BotObserver, BotPlayer, BotSettings
from cardroom.client.bots.strength import equity, preflop_percentile

__all__ = ["BotObserver", "BotPlayer", "BotSettings", "Style", "decide", "equity", "preflop_percentile"]
