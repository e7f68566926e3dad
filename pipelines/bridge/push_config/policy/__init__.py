"""An operator's policy class, which runs beside the loop."""
