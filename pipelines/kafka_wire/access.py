"""How a cluster is reached, in the words of whoever has set it."""

import asyncio
from collections.abc import Callable, Mapping

from pipelines.errors import InvalidSetting, MissingService
from pipelines.kafka_client.async_link import TOKEN_TIMEOUT_S
from pipelines.kafka_client.faults import NoToken, Refused
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


async def check_token(access: Access, section: str) -> None:
    """See that what a login needs can be had, before librdkafka asks for it.

    Its own faults are names, after it has tried for a while.

    Args:
        section: The table of conf/ that says how the cluster is reached.
    Raises: MissingService.
    """
    login = access.login
    if login is None or login.prepare is None:
        return
    try:
        await asyncio.to_thread(login.prepare, TOKEN_TIMEOUT_S)
    except (NoToken, Refused) as error:
        raise MissingService(
            f"there is no login to Kafka at {access.place}: {error}; the "
            f"sasl_oauthbearer_ keys of [{section}] name that endpoint"
        ) from None
