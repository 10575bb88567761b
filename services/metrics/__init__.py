"""The metrics API: clicks of ads by minute, hour or day over HTTP, each row final or live.

Belongs here: tokens in, JSON out, and whose rows a caller may see. The answer itself is made by
``warehouse/counts.py``, as is the one that ``tallystick counts`` prints.
"""
