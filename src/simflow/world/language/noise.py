"""Slips of the pen: typing errors at keyed places."""

from __future__ import annotations

_STEP = 0x9E3779B1


def typos(text: str, draw: int) -> str:
    """One slip for each 60 characters or part of them: two letters swapped, one lost or one doubled.

    draw: 32 random bits, the only source of chance. Words that begin with @ or # stay whole.
    """
    letters = list(text)
    for number in range(1 + len(text) // 60):
        draw = (draw * _STEP + number + 1) & 0xFFFFFFFF
        at = (draw * (len(letters) - 2)) >> 32
        if not (letters[at].isalpha() and letters[at + 1].isalpha()) or _marked(letters, at):
            continue
        match draw % 3:
            case 0:
                letters[at], letters[at + 1] = letters[at + 1], letters[at]
            case 1:
                del letters[at + 1]
            case _:
                letters.insert(at, letters[at])
    return "".join(letters)


def _marked(letters: list[str], at: int) -> bool:
    while at > 0 and not letters[at - 1].isspace():
        at -= 1
    return letters[at] in "@#"
