"""Classes of Prometheus' remote write 1.0, made of their fields.

Source: Prometheus Remote-Write 1.0 specification, "Protocol".
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_PACKAGE = "remote_write"
_MESSAGES = {
    "WriteRequest": [
        ("timeseries", 1, "TimeSeries"),
        ("metadata", 3, "MetricMetadata"),
    ],
    "TimeSeries": [("labels", 1, "Label"), ("samples", 2, "Sample")],
    "Label": [("name", 1, _FIELD.TYPE_STRING), ("value", 2, _FIELD.TYPE_STRING)],
    "MetricMetadata": [
        ("type", 1, _FIELD.TYPE_INT32),
        ("metric_family_name", 2, _FIELD.TYPE_STRING),
        ("help", 4, _FIELD.TYPE_STRING),
        ("unit", 5, _FIELD.TYPE_STRING),
    ],
    "Sample": [("value", 1, _FIELD.TYPE_DOUBLE), ("timestamp", 2, _FIELD.TYPE_INT64)],
}


def _make_class():
    file = descriptor_pb2.FileDescriptorProto(
        name="remote_write.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            added = message.field.add(name=field, number=number)
            if isinstance(kind, str):
                added.type, added.label = _FIELD.TYPE_MESSAGE, _FIELD.LABEL_REPEATED
                added.type_name = f".{_PACKAGE}.{kind}"
            else:
                added.type, added.label = kind, _FIELD.LABEL_OPTIONAL
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName(f"{_PACKAGE}.WriteRequest")
    return message_factory.GetMessageClass(found)


WriteRequest = _make_class()
