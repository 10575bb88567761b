"""Clicks that somebody else has logged: read from their files, judged, and sent the way of all clicks.

May be touched here: formats of foreign logs, and how their columns become the fields of a click event. Must stay: what
is sent goes through the log and is counted by nothing but the stream and reconcile; what is not sent has a reason.
"""
