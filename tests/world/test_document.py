"""docs/science.md says the numbers that the code uses."""

import re

import pytest

from simflow.plan import Dynamics, Feed, Platform
from simflow.world.looking import LISTED
from simflow.world.mail import IN_GROUP, MESSAGES
from simflow.world.population import DEFAULT_STANCE, DEFAULT_SUSCEPTIBILITY
from simflow.world.settings import WAKING, Settings

S, D, F, P = Settings(), Dynamics(), Feed(), Platform()


def short(value):
    return f"{value:g}".removeprefix("0") if 0 < value < 1 else f"{value:g}"


@pytest.mark.parametrize(
    "passage",
    [
        f"at most {short(S.busiest)} a tick",
        f"| mean of a_i | {short(S.sessions)} · √(minutes / 10)",
        f"normal(0, {short(DEFAULT_STANCE.sd)})",
        f"else uniform {short(DEFAULT_SUSCEPTIBILITY.low)}..{short(DEFAULT_SUSCEPTIBILITY.high)} ",
        f"with probability `contrarians` ({short(D.contrarians)})",
        f"The last {S.recent} posts of each followee",
        f"{S.pool} · (1 - `explore`)",
        f"`fade` {S.fade_minutes // 60} h",
        f"`message` | {short(S.message)} of the sessions",
        f"`group` | {short(S.group)} of the members' sessions",
        f"`search` | {short(S.search)} of the sessions",
        f"`trend` | {S.trend:.2f} of the sessions".replace("| 0", "| "),
        f"`report` | {short(S.report)} of the dislikes",
        f"the newest {MESSAGES} of a session",
        f"the newest {IN_GROUP} of a session",
        f"`group_size` ({P.group_size})",
        f"of the {LISTED} best liked posts",
        f"the first `results` ({P.results})",
        f"`trend_span` ({P.trend_span}) ticks",
        f"`hide_after` ({P.hide_after})",
        f"{144 * S.sessions:.2f} = 144 · {short(S.sessions)}",
        f"+  {short(S.boost)} · [follows and pushed",
        f"Defaults {short(F.recency)} / {short(F.popularity)} / {short(F.affinity)} ",
        f"follow {short(F.follow)}, similarity {short(F.similarity)}, noise {short(F.noise)}",
        f"Defaults: rate {short(D.rate)}, anchor {short(D.anchor)}. **Repulsion is {short(D.repulsion)}**",
        f"| .30 v g² | .30 v (1 - g)² | {short(S.reply)} v r max(g, 1 - g) | {short(S.repost)} v r g⁴ | {short(S.quote)} v r |",
        f"times min(1, {S.attention} / `feed.posts`)",
        f"a follow with {short(S.follow)}, after a dislike an unfollow with .10 and a mute\nwith {short(S.mute)}",
        f"With probability {short(S.post)} · (.5 .. 1.5)",
        f"plus `noise` ({short(D.noise)})",
        f"closer than {short(S.agree)}, disagrees beyond .8",
        f"that {S.newsroom:.0%} follow".replace("%", " %"),
        f"{short(D.confidence)} is {short(D.confidence / 2)} on a scale of width 1",
    ],
)
def test_the_document_says_what_the_code_does(passage, root):
    assert passage in (root / "docs" / "science.md").read_text("utf-8")


def test_numbers_that_the_document_writes_with_two_digits_are_right():
    assert (S.like, S.dislike, S.unfollow, S.disagree) == (0.30, 0.30, 0.10, 0.8)


def test_the_hours_of_the_document_are_those_of_the_code(root):
    row = next(line for line in (root / "docs" / "science.md").read_text("utf-8").splitlines() if line.startswith("| D |"))
    raw = [0.0] * 24
    for low, high, weight in re.findall(r"(\d+)(?:-(\d+))? h (\d*\.\d+)", row):
        for hour in range(int(low), int(high or low) + 1):
            raw[hour] = float(weight)
    assert pytest.approx([w * 24 / sum(raw) for w in raw]) == list(WAKING)
