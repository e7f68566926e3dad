"""client_findings: what rules say of the clients that live, as a table."""
