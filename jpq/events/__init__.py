"""What a provider's stream and a turn are made of: plain immutable values."""
