"""What a peer says that no further attempt would change."""


class Refused(Exception):
    """Raised when a node refuses what it was asked; names and reasons only."""


class LoginRefused(Refused):
    """Raised when the client cannot log in or finds no trust."""
