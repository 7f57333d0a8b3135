"""What all screens share: the two lines on top, the filter, the footer, and how they hear of news."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual._context import NoActiveAppError
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from simflow.runs import is_remote
from simflow_tui.figures import clip, plain
from simflow_tui.tones import Span
from simflow_tui.watch import STATES, RunView
from simflow_tui.widgets.bar import Bar, Crumbs
from simflow_tui.widgets.keys import Keys

if TYPE_CHECKING:
    from simflow_tui.app import SimflowApp


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that can be done now: `group: action` for the palette, a line about it, and the action's name."""

    name: str
    about: str
    action: str


class Filter(Input):
    """One line under the path; escape clears and hides it."""

    HELP = """\
# Filter

Words narrow the list as you type; all of them must occur. `@rosa` looks at agents, `kind:reply` at the kind, `state:failed` at the
state. Enter goes back to the list and keeps the filter, escape clears it.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear filter"),
        Binding("enter,down", "leave", "to the list"),
    ]

    DEFAULT_CSS = """
    Filter, Filter:focus { height: 1; border: none; padding: 0 2; background: $surface; display: none; }
    Filter.-shown { display: block; }
    """

    def action_clear(self) -> None:
        """Forget the words and go back to the list."""
        self.value = ""
        self.remove_class("-shown")
        self.screen.focus_next()

    def action_leave(self) -> None:
        """Go back to the list, filtered."""
        self.set_class(bool(self.value), "-shown")
        self.screen.focus_next()


class Page(Screen[None]):
    """A screen of the terminal. `MODE` is its name in the bar."""

    MODE: ClassVar[str] = ""
    FILTER: ClassVar[str | None] = None
    AUTO_FOCUS = "Rows"
    HELP: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "filter", "filter", key_display="/")]

    def __init__(self) -> None:
        super().__init__()
        with contextlib.suppress(NoActiveAppError):
            # Its style sheets are those of now: Textual would parse and apply all of them again when it is first shown.
            self._css_update_count = self.app._css_update_count  # noqa: SLF001 - there is no other way to say so

    @property
    def desk(self) -> SimflowApp:
        """The application, with what is selected."""
        from simflow_tui.app import SimflowApp  # noqa: PLC0415 - the application knows its pages

        assert isinstance(self.app, SimflowApp)
        return self.app

    def compose(self) -> ComposeResult:
        """Bar, path, filter, body, keys."""
        yield Bar(self.MODE)
        yield Crumbs()
        if self.FILTER is not None:
            yield Filter(placeholder=f"/ {self.FILTER}", compact=True)
        yield from self.body()
        yield Keys()

    def body(self) -> Iterator[Widget]:
        """What is between path and footer."""
        yield from ()

    _whole = False

    def on_screen_resume(self) -> None:
        """Shown again: take in what happened meanwhile."""
        self.call_later(self.news)

    def on_mount(self) -> None:
        """Show what is known, once all parts are there."""
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._whole = True
        self.news()

    def news(self) -> None:
        """Called when the ledger or the data of the selected run changed, while this screen is on."""
        if self._whole and self.is_attached and self.desk.current_mode == self.MODE and not self.desk.closing:
            self.query_one(Bar).show(self.desk.snapshot.runs)
            parts, right = self.path()
            self.query_one(Crumbs).show(parts, [*self.warnings(), *right])
            self.update()

    def warnings(self) -> list[Span]:
        """What must be said on every screen: where nothing can be asked of a run, and where what is shown is of an earlier moment."""
        snapshot, run = self.desk.snapshot, self.desk.selected
        found: list[Span] = []
        if run.remote if run else is_remote(self.desk.homes[0]):
            found.append(("READ-ONLY s3  ", "warn"))
        if snapshot.trouble:
            found.append((clip(f"no answer: {plain(snapshot.trouble)}", 60) + "  ", "bad"))
        return found

    def update(self) -> None:
        """Bring the body up to date."""

    def path(self) -> tuple[list[str], list[Span]]:
        """Path and right side of the second line."""
        run = self.desk.selected
        if run is None:
            return ["no run is selected"], []
        return [run.record.scenario, run.cell], badge(run)

    def command(self) -> str:
        """The command that prints what is on this screen."""
        run = self.desk.selected
        return f"simflow runs {run.id}" if run else "simflow runs"

    def deeds(self) -> Iterator[Deed]:
        """What can be done here and now, beyond what the application offers."""
        yield from ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing are not shown."""
        del parameters
        return self.FILTER is not None if action == "filter" else True

    def action_filter(self) -> None:
        """Show the filter and write into it."""
        box = self.query_one(Filter)
        box.add_class("-shown")
        box.focus()

    def words(self) -> str:
        """The filter's text."""
        found = self.query(Filter)
        return found.first().value if found else ""

    def on_input_changed(self, event: Input.Changed) -> None:
        """The filter was changed."""
        if isinstance(event.input, Filter):
            self.update()


def badge(run: RunView) -> list[Span]:
    """State and health of a run, in a few words."""
    sign, tone = STATES[run.state]
    word, how = run.health
    spans: list[Span] = [(f"{sign} {run.state}", tone)]
    if word and run.state not in (word, "silent"):
        spans.append((f"  {word}", how))
    if run.state == "silent":
        spans.append((f"  no sign of life for {word.removeprefix('silent ')}", how))
    return spans


def matches(words: str, fields: dict[str, Any], text: str) -> bool:
    """Whether a row passes a filter: `name:value` looks at one field, other words at the text; case is ignored, all must hold."""
    for word in words.lower().split():
        name, colon, value = word.partition(":")
        if colon and name in fields:
            if value not in str(fields[name]).lower():
                return False
        elif word not in text.lower():
            return False
    return True
