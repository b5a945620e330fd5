"""median is right for odd and even counts, and leaves its argument alone."""

import sys

sys.dont_write_bytecode = True
from stats import mean, median

assert median([5, 1, 3]) == 3
assert median([4, 1, 3, 2]) == 2.5
given = [3, 1, 2]
median(given)
assert given == [3, 1, 2], "the list that was given is changed"
assert mean([1, 2, 3]) == 2
try:
    median([])
except ValueError:
    pass
else:
    raise AssertionError("no ValueError without values")
