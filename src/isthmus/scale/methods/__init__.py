"""Methods as statistics of blocks: how each is fitted from sums over pieces, by name."""
