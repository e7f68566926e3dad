"""What configures Java's clients: properties, key stores, values in force."""
