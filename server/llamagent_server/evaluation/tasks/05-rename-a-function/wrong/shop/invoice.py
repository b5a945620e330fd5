from shop.prices import total_price


def invoice(items):
    return f"To pay: {total_price(items)}"
