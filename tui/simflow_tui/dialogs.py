"""Small screens over a screen: a question before something that cannot be taken back, one line of text, help, and jumping."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Label

from simflow_tui.figures import plain_lines


class Confirm(ModalScreen[bool]):
    """Asks before something happens. `y` does it, everything else does not."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "answer(True)", "yes"), Binding("n,escape", "answer(False)", "no")]
    AUTO_FOCUS = "#no"

    def __init__(self, question: str, about: str, yes: str) -> None:
        super().__init__()
        self.question, self.about, self.yes = question, about, yes

    def compose(self) -> ComposeResult:
        """Question, consequence, two buttons."""
        with Vertical(classes="dialog"):
            yield Label(plain_lines(self.question), classes="question", markup=False)
            yield Label(plain_lines(self.about), classes="about", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(f"{self.yes} (y)", id="yes", variant="warning", compact=True)
                yield Button("no (n)", id="no", compact=True)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Answer."""
        self.dismiss(yes)


class Line(ModalScreen[str | None]):
    """Asks for one line of text; escape gives nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "never mind")]

    def __init__(self, question: str, about: str, value: str = "") -> None:
        super().__init__()
        self.question, self.about, self.value = question, about, value

    def compose(self) -> ComposeResult:
        """Question and field."""
        with Vertical(classes="dialog"):
            yield Label(plain_lines(self.question), classes="question", markup=False)
            yield Label(plain_lines(self.about), classes="about", markup=False)
            yield Input(value=self.value, compact=True)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)

    def action_leave(self) -> None:
        """Nothing."""
        self.dismiss(None)


class Help(ModalScreen[None]):
    """What the screen and the part that has the keys are, and every key that works there."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,question_mark", "leave", "close")]

    def __init__(self, texts: Iterable[str], keys: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        rows = "\n".join(f"| `{key.replace('|', '¦').replace('`', 'grave')}` | {about} |" for key, about in keys)
        self.text = "\n\n".join([*texts, f"# Keys that work now\n\n| key | does |\n|---|---|\n{rows}"])

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        from textual.widgets import Markdown  # noqa: PLC0415 - a tenth of a second that the first paint need not wait for

        with VerticalScroll(classes="help"):
            yield Markdown(self.text)

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)


class Jump(ModalScreen[Widget | None]):
    """A letter on each part that can have the keys; pressing it goes there."""

    LETTERS = "asdfghjklqwertyuiop"

    def __init__(self, targets: Iterable[Widget]) -> None:
        super().__init__()
        self.targets = dict(zip(self.LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        """A label at each target."""
        for letter, widget in self.targets.items():
            label = Label(f" {letter} ", classes="jump", markup=False)
            label.styles.offset = (widget.region.x, widget.region.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        """A letter goes to its target, anything else nowhere."""
        event.stop()
        self.dismiss(self.targets.get(event.key))

    def on_click(self) -> None:
        """A click closes."""
        self.dismiss(None)
