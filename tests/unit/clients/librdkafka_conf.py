"""The configuration that a real handle of librdkafka has, as librdkafka prints it.

confluent_kafka does not show it; its wheel has the library beside it, which does.
"""

import ctypes
from pathlib import Path

import confluent_kafka

PRODUCER_TYPE, CONSUMER_TYPE = 0, 1
_POINTERS = ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_conf")
_Texts = ctypes.POINTER(ctypes.c_char_p)


def _load():
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    (path,) = folder.glob("librdkafka-*")
    library = ctypes.CDLL(str(path))
    for name in _POINTERS:
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_conf_get_default_topic_conf.restype = ctypes.c_void_p
    library.rd_kafka_conf_dump.restype = _Texts
    library.rd_kafka_topic_conf_dump.restype = _Texts
    return library


class Refused(Exception):
    """Raised in librdkafka's words."""


def read_handle(kind, given):
    """Return name to value of a handle that is made for this and ended."""
    library, error = _load(), ctypes.create_string_buffer(512)
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    for name, value in ({"log_level": "0"} | given).items():
        words = (name.encode(), value.encode(), error, ctypes.c_size_t(512))
        if library.rd_kafka_conf_set(conf, *words):
            raise Refused(error.value.decode())
    made = library.rd_kafka_new(kind, conf, error, ctypes.c_size_t(512))
    if not made:
        raise Refused(error.value.decode())
    handle = ctypes.c_void_p(made)
    in_force = ctypes.c_void_p(library.rd_kafka_conf(handle))
    topic = library.rd_kafka_conf_get_default_topic_conf(in_force)
    found = _read_dump(library.rd_kafka_conf_dump, in_force)
    if topic:
        dump = library.rd_kafka_topic_conf_dump
        found = _read_dump(dump, ctypes.c_void_p(topic)) | found
    library.rd_kafka_destroy(handle)
    return found


def _read_dump(dump, conf):
    count = ctypes.c_size_t()
    texts = dump(conf, ctypes.byref(count))
    names = range(0, count.value, 2)
    return {texts[at].decode(): (texts[at + 1] or b"").decode() for at in names}
