"""The inside of a contestant's process: one line of JSON in is one run, one line of JSON out is what it counted.

Belongs here: the loop, for every contestant, whatever Python it needs; so this file imports only the standard library.
The other end is ``contestant.py``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def serve(run: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answers each line until there are no more. What engines print goes to standard error, not between the answers."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        for line in sys.stdin:
            answers.write(json.dumps(run(json.loads(line))) + "\n")
            answers.flush()
