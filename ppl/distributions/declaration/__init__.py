"""How a family is declared: its parameters, their domains, and what the base class makes of them."""
