"""What the service is set to."""

HOST = "localhost"
PORT = 8080
CONNECT_TIMEOUT = 45  # seconds
READ_TIMEOUT = 45  # seconds
RETRIES = 3
