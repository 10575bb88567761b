"""Spark jobs, one a file: parameters in, tables written, a receipt out.

Belongs here: jobs and, in ``transforms``, pure DataFrame functions. Tables are written through ``warehouse``.
"""
