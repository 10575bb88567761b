"""The ``tallystick`` command: progress, tables, clear errors.

Belongs here: arguments, printing, exit codes, and the set-up of one machine (``jars.py``). Does not belong here: any
rule of counting, sealing or serving; a command calls one function of a room below and shows what came back.
"""
