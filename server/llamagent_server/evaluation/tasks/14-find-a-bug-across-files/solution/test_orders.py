import unittest

from store.orders import total


class OrdersTest(unittest.TestCase):
    def test_a_gold_customer_pays_a_tenth_less(self):
        order = {"customer": "gold", "items": [{"price": "10.00", "count": 2}]}
        self.assertEqual(total(order), 1800)

    def test_one_digit_after_the_point_is_tens_of_cents(self):
        order = {"customer": "regular", "items": [{"price": "12.5", "count": 1}]}
        self.assertEqual(total(order), 1250)
