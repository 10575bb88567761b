"""The log room: the Kafka topics that clicks, edge counts and watermarks travel through, and the embedded broker.

Belongs here: everything that speaks to Kafka outside Spark. What an event means is ``domain``; what becomes of it is
``spark_jobs`` and ``warehouse``.
"""
