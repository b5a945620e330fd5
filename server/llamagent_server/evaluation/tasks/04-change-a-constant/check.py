"""Only READ_TIMEOUT changed."""

import importlib.util

spec = importlib.util.spec_from_file_location("settings", "service/settings.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
found = {name: getattr(module, name, None) for name in ("HOST", "PORT", "CONNECT_TIMEOUT", "READ_TIMEOUT", "RETRIES")}
right = {"HOST": "localhost", "PORT": 8080, "CONNECT_TIMEOUT": 30, "READ_TIMEOUT": 45, "RETRIES": 3}
assert found == right, found
