"""What readers ask: views, rollups, differences, overviews, charts."""
