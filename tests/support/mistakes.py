"""User mistakes and the error sentences for them, read from transcripts: a line with the mistake, then its sentence."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "mistakes"


@dataclass(frozen=True)
class Mistake:
    """A mistake as a user types it after its prompt, and the exact error sentence for it."""

    typed: str
    sentence: str

    def __str__(self) -> str:
        return self.typed


def mistakes(transcript: str | Path, prompt: str) -> list[Mistake]:
    """Return all mistakes of a transcript.

    Lines with a mistake begin with a prompt such as `>>> `; lines with `#` are comments. A string names a transcript of
    FOLDER.
    """
    path = FOLDER / f"{transcript}.txt" if isinstance(transcript, str) else transcript
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    typed, sentences = lines[::2], lines[1::2]
    assert all(line.startswith(prompt) for line in typed), f"{path.name}: each mistake has one sentence"
    assert not any(line.startswith(prompt) for line in sentences), f"{path.name}: each mistake has one sentence"
    return [Mistake(line.removeprefix(prompt), sentence) for line, sentence in zip(typed, sentences, strict=True)]
