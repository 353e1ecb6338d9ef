"""Versions of clients that are too old for something, by number. Source: MQVersion (5.3.3)."""

VERSION_3_0_7 = 28
VERSION_3_1_8 = 62
_EARLY = (
    *(f"V3_0_0_{name}" for name in ("SNAPSHOT", "ALPHA1", *(f"BETA{number}" for number in range(1, 6)))),
    *(f"V3_0_0_BETA{number}{end}" for number in range(6, 10) for end in ("_SNAPSHOT", "")),
    "V3_0_0_FINAL",
    *(f"V3_0_{number}{end}" for number in range(1, 16) for end in ("_SNAPSHOT", "")),
    *(f"V3_1_{number}{end}" for number in range(8) for end in ("_SNAPSHOT", "")),
)


def version_text(version: int) -> str:
    """The name of a version below V3_1_8_SNAPSHOT."""
    return _EARLY[version]
