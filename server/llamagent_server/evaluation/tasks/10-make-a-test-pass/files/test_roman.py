import unittest

from roman import number


class RomanTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(number("XVI"), 16)

    def test_subtracts_a_smaller_one_before_a_bigger_one(self):
        self.assertEqual(number("XIV"), 14)
        self.assertEqual(number("MCMXC"), 1990)


if __name__ == "__main__":
    unittest.main()
