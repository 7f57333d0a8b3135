"""The last line: the keys that work here and now, in one piece, so that a screen is there at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from simflow_tui.tones import Span, content


@dataclass(frozen=True, slots=True)
class Key:
    """What is shown of a binding; `key` is what a click on it presses."""

    key: str
    sign: str
    words: str

    @property
    def width(self) -> int:
        """Terminal cells, with what separates sign and words."""
        return cell_len(self.sign) + (1 + cell_len(self.words) if self.words else 0)


class Keys(Widget):
    """Keys on the left as far as there is room for whole ones, the palette on the right; F1 lists them all."""

    DEFAULT_CSS: ClassVar[str] = """
    Keys { dock: bottom; height: 1; background: $footer-background; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.keys: tuple[Key, ...] = ()
        self.palette: Key | None = None

    def on_mount(self) -> None:
        """Follow what works."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        if not screen.app.app_focus or not self.is_attached:
            return
        found: dict[str, Key] = {}
        palette = None
        for key, (_, binding, _, _) in screen.active_bindings.items():
            sign = self.app.get_key_display(binding)
            if key == self.app.COMMAND_PALETTE_BINDING:
                palette = Key(key, sign, "all")
            elif binding.show and binding.action not in found:
                grouped = binding.group is not None and any(k.words == binding.description for k in found.values())
                if grouped:  # two keys that do one thing in two directions: their signs stand before one word
                    before = next(a for a, k in found.items() if k.words == binding.description)
                    found[before] = Key(found[before].key, found[before].sign, "")
                found[binding.action] = Key(key, sign, binding.description)
        if (tuple(found.values()), palette) != (self.keys, self.palette):
            self.keys, self.palette = tuple(found.values()), palette
            self.refresh()

    def shown(self) -> list[Key]:
        """Those that there is room for."""
        room = self.content_size.width - (self.palette.width + 2 if self.palette else 0)
        kept: list[Key] = []
        for key in self.keys:
            room -= key.width + (2 if key.words else 1)
            if room < 0:
                break
            kept.append(key)
        return kept

    def on_click(self, event: events.Click) -> None:
        """A click presses the key."""
        at = event.x - 1
        if self.palette and at >= self.content_size.width - self.palette.width:
            self.app.simulate_key(self.palette.key)
            return
        for key in self.shown():
            if 0 <= at < key.width:
                self.app.simulate_key(key.key)
                return
            at -= key.width + (2 if key.words else 1)

    def render(self) -> Content:
        """One line."""
        left: list[Span] = []
        used = 0
        for key in self.shown():
            left += [(key.sign, "key"), (f" {key.words}" if key.words else "", "label"), ("  " if key.words else " ", "")]
            used += key.width + (2 if key.words else 1)
        if self.palette is None:
            return content(*left)
        gap = max(0, self.content_size.width - used - self.palette.width)
        return content(*left, (" " * gap, ""), (self.palette.sign, "key"), (f" {self.palette.words}", "label"))
