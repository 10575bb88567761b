"""Made-up click traffic with a known truth: what is sent, and what must be counted of it.

Belongs here: the catalogue of made-up ads, the plan of events, the malformed kinds, the truth, the two senders.
Does not belong here: the counting rule. The truth is counted by a few plain lines of its own (``recount.py``), so
that an error of ``domain/counting.py`` or ``domain/parsing.py`` cannot hide in it.
"""
