"""How a cluster is reached, in the words of whoever has set it."""

from collections.abc import Callable, Mapping

from pipelines.errors import InvalidSetting
from pipelines.kafka_client.properties import Access, UnusableConfig, make_access


def read_access(
    connection: Mapping[str, str], *, key_name: Callable[[str], str] = str
) -> Access:
    """Read librdkafka's connection properties.

    Args:
        connection: The values hold secrets.
        key_name: What the user calls a property.
    Raises: InvalidSetting, naming the property, never its secret.
    """
    try:
        return make_access(connection.get)
    except UnusableConfig as error:
        what = f"{error.what} " if error.what else ""
        text = f"{key_name(error.name)}: {what}{error.why}"
        raise InvalidSetting(text) from None
