"""The warehouse's Spark side: the session, and the three ways in which big tables are written.

Belongs here: appending, replacing and merging with Delta's own engine. Does not belong here: what the rows mean
(``spark_jobs``), ledgers and small tables (``warehouse``, delta-rs), anything that must load without a JVM.
"""
