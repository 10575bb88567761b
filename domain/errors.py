"""The one tree of errors that people see: what was found, what was expected, what to do.

Belongs here: the base class and the errors that several rooms raise. An error of one room lives in that room
and derives from these. Each class is described in ``docs/errors.md``.
"""

from __future__ import annotations


class TallystickError(Exception):
    """A refusal or failure that names its remedy.

    ``is_transient`` says whether the same call may succeed later without anybody changing anything.
    """

    is_transient = False
    exit_code = 1

    def __init__(self, found: str, expected: str, remedy: str) -> None:
        super().__init__(f"{found}; expected {expected}; {remedy}")
        self.found = found
        self.expected = expected
        self.remedy = remedy


class SettingError(TallystickError):
    """A setting is unknown or has a value that is not allowed."""

    exit_code = 2


class UsageError(TallystickError):
    """A command or request asks for something that cannot be answered as asked."""

    exit_code = 2


class WriterBusyError(TallystickError):
    """Another process holds the writer lock of a table; it may be free later."""

    is_transient = True
    exit_code = 3


class LedgerConflictError(TallystickError):
    """Somebody else moved a ledger's head between our read and our append; read again and retry."""

    is_transient = True


class IntegrityError(TallystickError):
    """Data contradicts a law of the system; a person has to look before anything goes on."""

    exit_code = 4
