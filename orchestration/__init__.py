"""Wiring only: Definitions, jobs, schedules, resources. What is scheduled is in ``assets``."""
