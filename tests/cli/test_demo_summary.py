"""The end of the demo: what is not so is said, and is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.demo_summary import Story, print_summary
from domain.errors import IntegrityError
from tests.support.sealed_world import HOUR, logged, sealed_world


def test_a_judgement_that_is_not_so_ends_the_demo_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR)])
    world.seal(HOUR)
    world.publish()
    story = Story(world.settings, [HOUR])
    story.check_pack("matches")
    story.check_recount(True)
    print_summary(story)
    assert "yes  the recount from raw agrees with the seals" in capsys.readouterr().out
    story.check_recount(False)
    story.check_recount(True)
    story.check_revision(2, before=9, after=8)
    with pytest.raises(IntegrityError, match=r"not so: the recount .*; not so: the revision bills 2 clicks less"):
        print_summary(story)
    assert "NO  the recount from raw agrees with the seals" in capsys.readouterr().out
