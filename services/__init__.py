"""The services that answer HTTP: the click redirect, the metrics API.

Belongs here: requests in, answers out, and the secrets that they need. Does not belong here: what is counted
(``domain``), how the log is reached (``clicklog``), how tables are read (``warehouse``).
"""
