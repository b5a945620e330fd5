import unittest

from store.orders import total


class OrdersTest(unittest.TestCase):
    def test_a_gold_customer_pays_a_tenth_less(self):
        order = {"customer": "gold", "items": [{"price": "10.00", "count": 2}]}
        self.assertEqual(total(order), 1800)
