"""Spark keeps consumers by group and partition, and takes no other options for them."""

from pipelines.streaming.sources import name_ranges_group

OPTIONS = {
    "kafka.bootstrap.servers": "broker:9092",
    "kafka.sasl.jaas.config": "secret",
}
OTHERS = {"kafka.bootstrap.servers": "other:9092"}


def test_ranges_read_with_the_same_options_are_of_one_group():
    name = name_ranges_group(OPTIONS)
    assert name_ranges_group({**OPTIONS}) == name
    assert name.startswith("spark-kafka-source-ranges-")


def test_other_options_have_a_group_of_their_own_that_tells_nothing_of_them():
    names = name_ranges_group(OPTIONS), name_ranges_group(OTHERS)
    assert names[0] != names[1]
    assert not any("secret" in name or "broker" in name for name in names)
