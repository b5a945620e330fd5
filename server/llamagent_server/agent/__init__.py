"""The agent: sessions, the loop, context, and the ports that the edges implement."""
