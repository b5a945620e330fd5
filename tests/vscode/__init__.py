"""The VS Code extension against the daemon's tables; its own tests run in VS Code (clients/vscode/ci.sh)."""
