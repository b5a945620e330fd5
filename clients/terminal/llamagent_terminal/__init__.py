"""The smallest llamagent client: the daemon as an editor would use it, over LSP on stdio, in a terminal."""
