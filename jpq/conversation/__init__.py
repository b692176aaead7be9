"""What was said: events, their identity, and the view a provider is sent."""
