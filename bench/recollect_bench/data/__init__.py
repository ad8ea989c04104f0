"""The evaluation sets: their layout, where they come from, and the kinds of question in them."""
