"""Roman numerals."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def number(roman):
    """What a numeral stands for: XIV is 14."""
    values = [VALUES[letter] for letter in roman]
    total = 0
    for value, following in zip(values, [*values[1:], 0]):
        total += -value if value < following else value
    return total
