import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_words_are_joined_by_one_hyphen(self):
        self.assertEqual(slug("Hello,  World!"), "hello-world")

    def test_nothing_left_is_untitled(self):
        self.assertTrue(slug("a"))


if __name__ == "__main__":
    unittest.main()
