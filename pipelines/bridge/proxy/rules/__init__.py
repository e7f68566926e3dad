"""Who answers which request."""
