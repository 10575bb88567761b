"""The tables as data, and the only code that writes Delta.

Belongs here: schemas, ledgers, writer locks, reading of published figures. Anything that loads Spark is in
``warehouse/spark``; no other module here does. Data is never written under this folder.
"""
