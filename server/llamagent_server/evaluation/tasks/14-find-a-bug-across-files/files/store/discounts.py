"""Who pays less."""

RATES = {"regular": 0, "silver": 5, "gold": 10}


def discount(full, customer):
    """How much is taken off `full`, in cents: a whole number, rounded down."""
    return full * RATES[customer] // 100
