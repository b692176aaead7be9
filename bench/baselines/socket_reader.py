"""Takes the reply off the socket and looks at none of it."""

import socket
import sys

host, _, path = sys.argv[1][len("http://") :].partition("/")
name, _, port = host.partition(":")
with socket.create_connection((name, int(port))) as connection:
    head = "POST /{}/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Length: 2\r\n\r\n{{}}"
    connection.sendall(head.format(path, host).encode())
    total = 0
    while True:
        data = connection.recv(65536)
        if not data:
            break
        total += len(data)
print(total)
