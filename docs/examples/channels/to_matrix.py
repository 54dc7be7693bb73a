"""Tells a room of Matrix. Its arguments: the server, the room, and the file (0600) with the access token of an account that is in it.

    [[channel]]
    name = "matrix"
    kind = "program"
    command = ["/usr/bin/python3", "/opt/guard/channels/to_matrix.py", "https://matrix.example.org", "!room:example.org", "/home/ada/.config/guard/matrix.secret"]

The room must not be encrypted: for one that is, run a client that encrypts, such as matrix-commander, in the place of this.
"""

import sys
import uuid
from urllib.parse import quote

from message import read, secret, send

server, room, token = sys.argv[1:]
text, _ = read()
path = f"/_matrix/client/v3/rooms/{quote(room, safe='')}/send/m.room.message/{uuid.uuid4()}"
send("PUT", server.rstrip("/") + path, {"msgtype": "m.text", "body": text}, secret(token))
