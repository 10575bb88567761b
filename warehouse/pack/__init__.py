"""Evidence packs: what a dispute is proven with, readable without any of our code. One job a module."""
