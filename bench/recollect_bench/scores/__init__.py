"""From runs to figures: what each answer is worth, and which differences are more than luck."""
