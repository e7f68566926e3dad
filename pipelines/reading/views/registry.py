"""Every view and function of readers, each after what it needs."""

from . import (
    active_config_view,
    client_points_view,
    client_rollups_view,
    client_subscriptions_view,
    clients_view,
    coverage_view,
    finding_views,
    labelled_view,
    metric_semantics_view,
    newest_values_view,
    quota_functions,
    wire_config_views,
)
from .broker_views import BROKER_VIEWS
from .client_config_disagreements import VIEW as DISAGREEMENTS_VIEW
from .client_config_functions import CONFIG_FUNCTIONS
from .client_config_views import CONFIG_VIEWS
from .client_software_views import SOFTWARE_VIEWS
from .config_catalog_view import CATALOG_VIEWS
from .effective_configs_view import EFFECTIVE_VIEWS
from .kernel_functions import KERNELS
from .known_clients_view import KNOWN_VIEWS, STATES_VIEW
from .quota_use_view import QUOTA_USE_VIEWS
from .view import Function, View

VIEWS: tuple[View, ...] = (
    metric_semantics_view.VIEW,
    STATES_VIEW,
    clients_view.VIEW,
    *KNOWN_VIEWS,
    wire_config_views.VIEW,
    client_subscriptions_view.VIEW,
    newest_values_view.VIEW,
    client_points_view.VIEW,
    client_rollups_view.VIEW,
    labelled_view.VIEW,
    coverage_view.VIEW,
    *CATALOG_VIEWS,
    *CONFIG_VIEWS,
    active_config_view.VIEW,
    DISAGREEMENTS_VIEW,
    *EFFECTIVE_VIEWS,
    *SOFTWARE_VIEWS,
    *BROKER_VIEWS,
    finding_views.OPEN,
    *QUOTA_USE_VIEWS,
)
FUNCTIONS: tuple[Function, ...] = (
    *CONFIG_FUNCTIONS,
    quota_functions.FUNCTION,
    *KERNELS,
)
VIEWS_AND_FUNCTIONS: tuple[View | Function, ...] = (*VIEWS, *FUNCTIONS)
