"""A shopping cart."""


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, item, price, quantity=1):
        self.lines.append((item, price, quantity))

    def total(self):
        return sum(price for item, price, quantity in self.lines)
