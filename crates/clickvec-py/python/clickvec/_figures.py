"""Numbers as people read them."""


def probability(p: float) -> str:
    """A p-value as the program prints it; small ones as ``<0.0001``.

    >>> probability(0.00009), probability(0.04996)
    ('<0.0001', '0.0500')
    """
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"
