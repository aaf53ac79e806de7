import unittest

from cart import Cart


class CartTest(unittest.TestCase):
    def test_empty_cart_costs_nothing(self):
        self.assertEqual(Cart().total(), 0)

    def test_one_of_each(self):
        cart = Cart()
        cart.add("apple", 3)
        cart.add("pear", 4)
        self.assertEqual(cart.total(), 7)

    def test_quantity_counts(self):
        cart = Cart()
        cart.add("apple", 3, quantity=5)
        self.assertEqual(cart.total(), 15)


if __name__ == "__main__":
    unittest.main()
