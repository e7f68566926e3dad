"""replay_pushes: stored pushes decoded again."""
