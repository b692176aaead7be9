"""How anything is told to stop, and how the person is asked."""
