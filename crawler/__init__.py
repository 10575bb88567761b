"""A polite crawler: frontier, robots, egress, fetch, parse, recrawl."""
