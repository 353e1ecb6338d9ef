"""The data source as Spark knows it: checks what it is given and hands out readers and writers."""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamWriter, DataSourceWriter
from pyspark.sql.types import StructType

from .errors import OptionError
from .messages import check_columns
from .options import SinkOptions, SourceOptions, sink_options, source_options
from .schema import Wanted, ddl, wanted

if TYPE_CHECKING:
    from .stream_reader import RocketMQStreamReader


class RocketMQDataSource(DataSource):
    """`format("rocketmq")`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "rocketmq"

    def schema(self) -> str:
        """The columns of a read without a schema of the user's. Errors: OptionError."""
        return ddl(self._source_options().include_metadata)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads a batch. Errors: OptionError, SchemaError."""
        from .batch_reader import FilteringBatchReader, RocketMQBatchReader

        options = self._source_options().of_batch()
        kind = FilteringBatchReader if options.filter_pushdown else RocketMQBatchReader
        return kind(options, columns_of(schema))

    def streamReader(self, schema: StructType) -> "RocketMQStreamReader":
        """Reads a stream. Errors: OptionError, SchemaError."""
        options = self._source_options().of_stream()
        try:
            from .stream_reader import RocketMQStreamReader
        except ImportError as error:
            raise OptionError(f"streams need pyspark 4.2 or later ({error})") from None
        return RocketMQStreamReader(options, columns_of(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Writes a batch. Errors: OptionError, SchemaError."""
        from .writer import RocketMQBatchWriter

        options = self._sink_options(schema, overwrite)
        if options.txn_log_path is not None:
            raise OptionError("deliveryGuarantee=transactional is for streams, whose batches have numbers")
        return RocketMQBatchWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Writes a stream. Errors: OptionError, SchemaError."""
        from .transactional_writer import TransactionalStreamWriter
        from .writer import RocketMQStreamWriter

        options = self._sink_options(schema, overwrite)
        return RocketMQStreamWriter(options) if options.txn_log_path is None else TransactionalStreamWriter(options)

    def _sink_options(self, schema: StructType, overwrite: bool) -> SinkOptions:
        if overwrite:
            raise OptionError("a topic cannot be overwritten; use mode append")
        options = sink_options(dict(self.options))
        check_columns([(field.name, field.dataType.simpleString()) for field in schema.fields], options.topic)
        return options

    def _source_options(self) -> SourceOptions:
        return source_options(dict(self.options))


def columns_of(schema: StructType) -> Wanted:
    """Names and types of a schema, checked. Errors: SchemaError."""
    return wanted((field.name, field.dataType.simpleString()) for field in schema.fields)
