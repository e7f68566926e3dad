"""Every table of the product."""

from .cluster import CLUSTER_CONTRACTS, EFFECTIVE_QUOTAS
from .configs import CLIENT_CONFIG_CONTRACTS
from .dynamic_configs import DYNAMIC_CONFIG_CONTRACTS
from .findings import FINDING_CONTRACTS
from .maintenance import MAINTENANCE_RUNS
from .quality import QUALITY_RESULTS
from .telemetry import TELEMETRY_CONTRACTS
from .traffic import CLIENT_TRAFFIC
from .wire_configs import CLIENT_WIRE_CONFIGS

ALL_CONTRACTS = (
    *CLIENT_CONFIG_CONTRACTS,
    *TELEMETRY_CONTRACTS,
    CLIENT_WIRE_CONFIGS,
    CLIENT_TRAFFIC,
    *CLUSTER_CONTRACTS,
    EFFECTIVE_QUOTAS,
    *DYNAMIC_CONFIG_CONTRACTS,
    *FINDING_CONTRACTS,
    MAINTENANCE_RUNS,
    QUALITY_RESULTS,
)
"""Those of a job in the order in which it writes them, its ledger last."""
