"""The data source as Spark sees it: checks options and schemas, and creates readers and writers."""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType

from ..errors import OptionError, SchemaError
from ..options.options import SinkOptions, SourceOptions, names_server, sink_options, source_options
from ..options.schema import Wanted, columns_of_read, ddl, wanted
from ..writing.messages import check_columns
from . import tables

if TYPE_CHECKING:
    from ..reading.stream_reader import RocketMQStreamReader


class RocketMQDataSource(DataSource):
    """The data source `format("rocketmq")`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "rocketmq"

    def schema(self) -> str | StructType:
        """Return the columns of a read without a user's schema, or of a new table. Raises OptionError, SchemaError."""
        given = dict(self.options)
        if tables.is_table(given):
            return tables.schema_of(given)
        options = source_options(given)
        return ddl(columns_of_read(options.include_metadata) if options.columns is None else wanted(options.columns))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Create the reader of a batch. Raises OptionError, SchemaError."""
        from ..reading.batch_reader import FilteringBatchReader, RocketMQBatchReader

        options = self._source_options(schema).of_batch()
        kind = FilteringBatchReader if options.filter_pushdown else RocketMQBatchReader
        return kind(options, _columns(schema, options))

    def streamReader(self, schema: StructType) -> "RocketMQStreamReader":
        """Create the reader of a stream. Raises OptionError, SchemaError."""
        options = self._source_options(schema).of_stream()
        try:
            from ..reading.stream_reader import RocketMQStreamReader
        except ImportError as error:
            raise OptionError(f"streams need pyspark 4.2 or later ({error})") from None
        return RocketMQStreamReader(options, _columns(schema, options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Create the writer of a batch. Raises OptionError, SchemaError."""
        from ..writing.writer import RocketMQBatchWriter

        given = dict(self.options)
        table = None if names_server(given) else tables.TableWrite.found(schema)
        hint = tables.NO_OPTIONS if tables.holds_options(schema) else self._hint(tables.NO_COLUMNS)
        options = sink_options(given if table is None else table.options(given), hint)
        self._check_write(schema, overwrite, options)
        if options.txn_log_path is not None:
            wrong = "deliveryGuarantee=transactional: for streams alone, whose batches have numbers"
            raise OptionError(f"{wrong}; a batch is written at least once; leave deliveryGuarantee and txnLogPath out")
        return RocketMQBatchWriter(options, table)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Create the writer of a stream. Raises OptionError, SchemaError."""
        from ..writing.transactional_writer import TransactionalStreamWriter
        from ..writing.writer import RocketMQStreamWriter

        options = sink_options(dict(self.options), self._hint(tables.NO_STREAM))
        self._check_write(schema, overwrite, options)
        return RocketMQStreamWriter(options) if options.txn_log_path is None else TransactionalStreamWriter(options)

    def _check_write(self, schema: StructType, overwrite: bool, options: SinkOptions) -> None:
        if overwrite:
            raise OptionError('mode("overwrite"): a topic cannot be overwritten; rows are appended; use mode("append")')
        check_columns([(field.name, field.dataType.simpleString()) for field in schema.fields], options.topic)

    def _source_options(self, schema: StructType) -> SourceOptions:
        given = tables.with_options_of_read(dict(self.options), schema)
        return source_options(given, self._hint(tables.NO_COLUMNS))

    def _hint(self, of_tables: str) -> str:
        """Return the hint `of_tables` if the option topic is missing: Spark passes no options of a table."""
        return "" if any(name.lower() == "topic" for name in self.options) else of_tables


def _columns(schema: StructType, options: SourceOptions) -> Wanted:
    """Return names and types of a schema. Raises SchemaError if they are invalid or contradict the option `columns`."""
    found = wanted((field.name, field.dataType.simpleString()) for field in schema.fields)
    if options.columns is not None and options.columns != found:
        raise SchemaError("columns: the schema names other columns; a read has one of the two; leave the option out")
    return found
