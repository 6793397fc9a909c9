"""Who sits where: tables on offer, seats, buy-in sagas."""
