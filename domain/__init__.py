"""Pure rules and types of click counting: no IO, no clock, no framework.

Belongs here: what a click event is, which click counts, when an hour may be sealed, what a seal hashes.
Does not belong here: reading or writing anything (``warehouse``, ``clicklog``), Spark (``spark_jobs``).
"""
