"""Forms for the tax office: nothing is computed here."""


def form_name(year):
    return f"vat-{year}.pdf"
