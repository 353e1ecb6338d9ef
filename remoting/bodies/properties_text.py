"""Java properties text, the body of the configuration requests. Source: MixAll.string2Properties (5.3.3)."""


def read_properties(body: bytes) -> dict[str, str]:
    """The keys and values of a body; a line without a separator is a key with an empty value, as Java reads it."""
    found: dict[str, str] = {}
    for raw in body.decode("utf-8", "replace").splitlines():
        line = raw.strip()
        if line and line[0] not in "#!":
            name, _, value = line.partition("=")
            found[name.strip()] = value.strip()
    return found
