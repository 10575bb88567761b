"""One command a file. A file has a function of its own name, or a typer app called ``app`` if it has sub-commands.

A new command is a file here and a line in ``cli/main.py``. Imports that take long stand inside the function.
"""
