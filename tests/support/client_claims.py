"""Words that claim something about the code of a client, which the emulator cannot know."""

import re

CLAIM = re.compile(r"\b(process|handl|ran\b|run by|listener|succeed|success)", re.IGNORECASE)
