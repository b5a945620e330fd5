"""Pages count from 1 and are as many as are needed."""

import sys

sys.dont_write_bytecode = True
from pages import page, pages

items = list(range(10))
assert page(items, 1, 5) == [0, 1, 2, 3, 4], page(items, 1, 5)
assert page(items, 2, 5) == [5, 6, 7, 8, 9]
assert page(items, 3, 4) == [8, 9]
assert [pages(items, size) for size in (5, 4, 10, 20, 3)] == [2, 3, 1, 1, 4]
assert pages([], 5) == 0
