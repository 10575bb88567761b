"""The click service: a signed link in, a click event in the log, a redirect out, in this order and never another.

Belongs here: one request (``app``), what it tells of its sender (``visitor``), where the event goes (``journal``), what
the log still owes us (``inflight``), what we report each second and minute (``reports``), and how the process runs
(``server``). Does not belong here: the link itself (``domain/links.py``, ``domain/signing.py``), counting.
"""
