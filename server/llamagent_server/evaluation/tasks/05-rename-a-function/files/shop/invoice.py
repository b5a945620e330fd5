from shop.prices import calc


def invoice(items):
    return f"To pay: {calc(items)}"
