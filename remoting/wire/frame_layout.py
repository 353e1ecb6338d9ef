"""Binary layouts of frames and headers, as declarations. They are the specification of these bytes.

Hot paths have their own codecs (`frame`, `header_binary`); tests compare them with these declarations on golden vectors
and on generated input. `Container` objects are used only in the declarations and their tests. All integers are
big-endian. Source: RemotingCommand, RocketMQSerializable (5.3.3).
"""

from construct import (
    Byte,
    Bytes,
    Enum,
    GreedyBytes,
    GreedyRange,
    Int16sb,
    Int16ub,
    Int24ub,
    Int32sb,
    Int32ub,
    Prefixed,
    Rebuild,
    Struct,
    len_,
    this,
)

SerializeType = Enum(Byte, JSON=0, ROCKETMQ=1)
"""The encoding of the header: the upper byte of a frame's second word."""

Frame = Struct(
    "length" / Rebuild(Int32ub, 4 + len_(this.header) + len_(this.body)),  # of everything after this field
    "serialize_type" / SerializeType,
    "header_length" / Rebuild(Int24ub, len_(this.header)),
    "header" / Bytes(this.header_length),
    "body" / Bytes(this.length - 4 - this.header_length),
)
"""One frame. An absent body and an empty body are the same on the wire."""

ExtField = Struct(
    "key" / Prefixed(Int16ub, GreedyBytes),
    "value" / Prefixed(Int32ub, GreedyBytes),  # an empty value means null
)
"""One ext field of a binary header. Key and value are UTF-8."""

BinaryHeader = Struct(
    "code" / Int16sb,
    "language" / Byte,  # ordinal of LanguageCode
    "version" / Int16sb,
    "opaque" / Int32sb,
    "flag" / Int32sb,  # bit 0 response, bit 1 oneway
    "remark" / Prefixed(Int32ub, GreedyBytes),  # an empty remark means null
    "ext_fields" / Prefixed(Int32ub, GreedyRange(ExtField)),
)
"""A header of serialize type ROCKETMQ."""
