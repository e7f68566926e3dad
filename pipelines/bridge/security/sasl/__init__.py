"""SASL on the server's side, without I/O: tokens in, challenges and verdicts out."""
