from billing.levies import surcharge


def to_pay(net, country):
    return round(net + surcharge(net, country), 2)
