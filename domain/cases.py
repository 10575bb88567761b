"""Cases: the name under which something settled is touched again, and why.

Belongs here: what a case id and a reason may look like, whoever gives them. What happens under a case is told by those
who do it: ``domain/seals.py`` for revisions, ``domain/adjustments.py`` for what comes after a close.
"""

from __future__ import annotations

import re

from domain.errors import UsageError
from domain.texts import check_line

CASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", re.ASCII)


def check_case(case_id: str, reason: str) -> None:
    """``UsageError`` unless these are an id and one line of text that a statement can carry."""
    if not CASE.fullmatch(case_id):
        raise UsageError(f"case {case_id!r}", "1 to 64 letters, digits or . _ : -", "correct it")
    check_reason(reason)


def check_reason(reason: str) -> None:
    """``UsageError`` unless it is one line of text that a statement can carry."""
    check_line("reason", reason)
