"""What is so in the clients' cluster, as records of one topic."""
