"""Tables of a catalog, whose options are stored in their schema.

Spark passes the OPTIONS and TBLPROPERTIES of a table only to `schema`, when the table is created. Reads and writes of
the table get the schema from the catalog, and no options (pyspark 4.2 and 4.3). So the schema contains the options, as
the default value of the column `brokerName`, which no message is sent with. A read finds the default in the schema. A
write finds it in the rows: Spark puts the default of the target into each row if the statement leaves the column out.
The schema alone is not enough for a write, because columns of a copied frame have the defaults of the table from which
they were read. Source: PythonTable, TableOutputResolver (Spark 4.3).
"""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, urlencode

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from rocketmq_testkit.emulator.kernel.masking import MASK

from ..errors import OptionError, RowError, SchemaError
from ..options.option import SPARK_NAMES, Declared, declared_in, no_such_option
from ..options.options import SinkOptions, SourceOptions, sink_options, source_options
from ..options.schema import BINARY, INT, LONG, MAP, STRING, TIMESTAMP, WRITE_ONLY, check_column, columns_of_read
from ..writing.messages import COLUMNS as WRITTEN
from ..writing.messages import TABLE_MARK

OPTIONS_COLUMN = "brokerName"
_DEFAULTS = ("CURRENT_DEFAULT", "EXISTS_DEFAULT")
"""Metadata keys of a column's default: for INSERT, and for rows that are older than the column."""
_TYPES: Mapping[str, DataType] = {
    STRING: StringType(),
    BINARY: BinaryType(),
    INT: IntegerType(),
    LONG: LongType(),
    TIMESTAMP: TimestampType(),
    MAP: MapType(StringType(), StringType()),
}
_OF_TABLE = "option."
"""Prefix that Spark adds to the names of OPTIONS; names of TBLPROPERTIES have none."""

NO_OPTIONS = (
    "; Spark gives a write no options of a table if the statement writes brokerName, too: name the other columns, as "
    "in INSERT INTO t (body, tags) SELECT ... or INSERT INTO t BY NAME SELECT ..., and create a table before filling it"
)
NO_COLUMNS = "; a table has its options only if CREATE TABLE names no columns: use its option columns instead"
NO_STREAM = "; Spark gives a stream no options of the table that it writes: give them to writeStream"


def is_table(given: Mapping[str, str]) -> bool:
    """True if these are the properties of a table that is being created."""
    return given.get("provider", "").lower() == "rocketmq"


def schema_of(given: Mapping[str, str]) -> StructType:
    """Return the schema of a new table, with its options. Raises OptionError or SchemaError."""
    options = _options(given)
    source = source_options(_known(options, SourceOptions))
    sink_options(_known(options, SinkOptions))
    columns = dict(source.columns or columns_of_read(source.include_metadata))
    for name, kind in columns.items():
        _check(name, kind)
    options.pop("columns", None)
    text = TABLE_MARK + urlencode(sorted(options.items()))
    defaults = dict.fromkeys(_DEFAULTS, f"'{text}'")
    return StructType(
        [
            StructField(name, _TYPES[kind], metadata=defaults if name == OPTIONS_COLUMN else None)
            for name, kind in {**columns, OPTIONS_COLUMN: STRING}.items()
        ]
    )


def _options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return all OPTIONS, which must be known, and the known TBLPROPERTIES; names in lower case. Raises OptionError."""
    named = {name[len(_OF_TABLE) :]: text for name, text in properties.items() if name.startswith(_OF_TABLE)}
    known = {name: declared for cls in (SourceOptions, SinkOptions) for name, declared in _declared(cls).items()}
    for name in named:
        if name not in known and name not in SPARK_NAMES:
            raise OptionError(no_such_option(name, named[name], "table", known.values()))
    found = {name: text for name, text in properties.items() if name in known} | {
        name: text for name, text in named.items() if name in known
    }
    for name in found:
        if known[name].secret:
            raise OptionError(
                f"{known[name].name}={MASK}: every user of the table could read it; give it in each statement, as "
                "in SELECT * FROM t WITH (accessKey = '...', secretKey = '...'), or use a temporary view"
            )
    return found


def _declared(cls: type) -> dict[str, Declared]:
    return {name: declared for _, declared in declared_in(cls) for name in declared.names}


def _known(options: Mapping[str, str], cls: type) -> dict[str, str]:
    return {name: text for name, text in options.items() if name in _declared(cls)}


def _check(name: str, kind: str) -> None:
    if name in WRITE_ONLY:
        if kind not in WRITTEN[name]:
            allowed = " or ".join(WRITTEN[name])
            raise SchemaError(f"column {name} {kind}: a write cannot have this type; it can be {allowed}; cast it")
        return
    check_column(name, kind)


def _options_text(schema: StructType) -> str | None:
    """Return the default of the column that contains the options; None if it contains none."""
    for field in schema.fields:
        default = str(field.metadata.get(_DEFAULTS[0], ""))
        if field.name == OPTIONS_COLUMN and default.startswith(f"'{TABLE_MARK}"):
            return default[1:-1]
    return None


def holds_options(schema: StructType) -> bool:
    """True for the schema of a table, and for columns that were read from one."""
    return _options_text(schema) is not None


def with_options_of_read(given: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """Add the options of the table with this schema to those of a read."""
    text = _options_text(schema)
    return dict(given) if text is None else {**_known(_parsed(text), SourceOptions), **given}


class TableWrite:
    """A write whose options are in its rows."""

    def __init__(self, text: str) -> None:
        self._options_text = text

    @classmethod
    def found(cls, schema: StructType) -> "TableWrite | None":
        """Return the write, or None if Spark has not filled the column with its default, which is never null."""
        text = _options_text(schema)
        return None if text is None or schema[OPTIONS_COLUMN].nullable else cls(text)

    def options(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the options of the table, overridden by those of the statement."""
        return {**_known(_parsed(self._options_text), SinkOptions), **given}

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows without the column `brokerName`. Raises RowError if one of its values is not the default."""
        for batch in batches:
            is_default = pc.fill_null(pc.equal(batch.column(OPTIONS_COLUMN), self._options_text), False)
            if not pc.all(is_default, min_count=0).as_py():
                raise RowError(f"the rows have a brokerName{NO_OPTIONS}")
            yield batch.drop_columns([OPTIONS_COLUMN])


def _parsed(text: str) -> dict[str, str]:
    return dict(parse_qsl(text[len(TABLE_MARK) :], keep_blank_values=True))
