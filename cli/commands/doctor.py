"""``tallystick doctor``: what is missing or wrong on this computer, and the line that mends it."""

from __future__ import annotations

import typer

from cli import checks
from cli.console import note, print_table
from cli.jars import CACHE, SUMS_FILE, read_sums


def doctor() -> None:
    """Look at Python, Java, jars, settings, disk, ports and broker. Ends with 1 if anything has to be mended."""
    settings, settings_finding = checks.check_settings()
    jars_finding = checks.check_jars(CACHE / "jars", read_sums(SUMS_FILE))
    findings = [checks.check_python(), checks.check_java(), jars_finding, settings_finding]
    if settings is not None:
        findings += [checks.check_disk(settings.home), *checks.check_ports(settings), checks.check_broker(settings)]
    print_table(
        ("what", "is", "found", "what to do"),
        [(one.subject, "wrong" if one.remedy else "fine", one.found, one.remedy) for one in findings],
    )
    wrong_count = sum(finding.remedy is not None for finding in findings)
    if wrong_count:
        note(f"{wrong_count} to mend")
        raise typer.Exit(1)
    note("nothing to mend")
