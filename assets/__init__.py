"""Dagster assets and checks, thin: what, when, from what.

Belongs here: declarations and bodies that launch a command or read a receipt. Rules are in ``domain`` and ``quality``,
computing in ``spark_jobs``; schedules and wiring in ``orchestration``.
"""
