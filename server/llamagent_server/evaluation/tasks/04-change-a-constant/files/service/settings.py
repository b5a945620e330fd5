"""What the service is set to."""

HOST = "localhost"
PORT = 8080
CONNECT_TIMEOUT = 30  # seconds
READ_TIMEOUT = 30  # seconds
RETRIES = 3
