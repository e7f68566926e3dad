"""confluent_kafka, with clients that push their configuration (KIP-1324).

An application changes its import line: `from kafka_clientele import Producer`. All else
of confluent_kafka is here by the same name. Installed alone it is called
`kafka_clientele` and needs confluent-kafka only.
"""

from confluent_kafka import *  # noqa: F403 - one import line is all that changes
from confluent_kafka import ThrottleEvent as ThrottleEvent

# A star brings what that of confluent_kafka brings, and none of the modules here.
from confluent_kafka import __all__ as __all__
from confluent_kafka import __version__ as __version__

from . import deserializing_consumer as deserializing_consumer
from . import deserializing_share_consumer as deserializing_share_consumer
from . import error as error
from . import serialization as serialization
from . import serializing_producer as serializing_producer

# The stars have brought confluent_kafka's own modules; these put ours in their place.
from .admin import AdminClient as AdminClient
from .aio import AIOConsumer as AIOConsumer
from .aio import AIOProducer as AIOProducer
from .consumers import Consumer as Consumer
from .consumers import DeserializingConsumer as DeserializingConsumer
from .consumers import DeserializingShareConsumer as DeserializingShareConsumer
from .consumers import ShareConsumer as ShareConsumer
from .producers import Producer as Producer
from .producers import SerializingProducer as SerializingProducer
