"""The composition root: an editor's connection becomes settings, a model, tools, a store and conversations."""

from llamagent_server.app.app import App
from llamagent_server.app.connection import Connection

__all__ = ["App", "Connection"]
