"""What every HTTP conversation needs, whoever it is with: sessions, connections, framing."""
