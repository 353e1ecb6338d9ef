"""The page of options, generated from their declarations.

`python -m pyspark_rocketmq.options_page > docs/spark-options.md` writes it.
"""

from collections.abc import Iterable

from .options.option import REQUIRED, Declared, declared_in
from .options.options import ConnectionOptions, SinkOptions, SourceOptions
from .options.schema import MESSAGE, METADATA, Column
from .writing.messages import COLUMNS as WRITTEN
from .writing.messages import IGNORED

_HEAD = (
    "This page is generated from the code. Option names are case-insensitive. An unknown option, or one that"
    " does not apply to a read, write, batch or stream, is an error that names the nearest option."
)
_OPTIONS_HEAD = "| option | default | allowed | meaning |\n|---|---|---|---|"
_COLUMNS_HEAD = "| column | type | meaning |\n|---|---|---|"


def page() -> str:
    """Render the page as Markdown."""
    shared = {name for name, _ in declared_in(ConnectionOptions)}
    return (
        "\n\n".join(
            [
                '# Options of `format("rocketmq")`',
                _HEAD,
                "## Connections of reads and writes",
                _options(each for _, each in declared_in(ConnectionOptions)),
                "## Reads",
                _options(each for name, each in declared_in(SourceOptions) if name not in shared),
                "## Writes",
                _options(each for name, each in declared_in(SinkOptions) if name not in shared),
                "## Columns of a read",
                _columns(MESSAGE),
                "Further columns with `includeMetadata=true`, or with a schema of your own, which may have any columns "
                "in any order:",
                _columns(METADATA),
                "## Columns of a write",
                _written(),
                _ignored(),
            ]
        )
        + "\n"
    )


def _options(declared: Iterable[Declared]) -> str:
    return "\n".join([_OPTIONS_HEAD, *(_option(each) for each in declared)])


def _option(each: Declared) -> str:
    names = ", ".join(f"`{name}`" for name in (each.name, *each.aliases))
    if each.default is REQUIRED:
        default = "required"
    elif each.default is None:
        default = "-"
    else:
        shown = str(each.default).lower() if isinstance(each.default, bool) else str(each.default)
        default = f"`{shown}`"
    return f"| {names} | {default} | {_cell(each.form.words)} | {_cell(each.doc)} |"


def _columns(columns: Iterable[Column]) -> str:
    rows = (f"| `{each.name}` | {' or '.join(f'`{kind}`' for kind in each.types)} | {each.doc} |" for each in columns)
    return "\n".join([_COLUMNS_HEAD, *rows])


def _written() -> str:
    rows = (f"| `{name}` | {' or '.join(f'`{kind}`' for kind in kinds)} |" for name, kinds in WRITTEN.items())
    return "\n".join(["| column | type |\n|---|---|", *rows])


def _ignored() -> str:
    names = ", ".join(f"`{column.name}`" for column in (*MESSAGE, *METADATA) if column.name in IGNORED)
    return (
        "A DataFrame that was read can be written unchanged. `messageGroup` is another name of `shardingKey`. "
        "`brokerName` is the broker of `queueId`. Without it, or if the topic has no queue on that broker, `queueId` "
        "counts the writable queues of all brokers from 0, ordered by broker name and queue. "
        f"A write ignores {names}, because the broker assigns them. It leaves out "
        "`properties` that control the broker, such as ids, delays and transactions."
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
