"""Judgement over what the tables hold: the independent recount, and the checks that orchestration shows. No JVM.

Belongs here: reading and comparing. Nothing here writes a table, and nothing here counts what is billed.
"""
