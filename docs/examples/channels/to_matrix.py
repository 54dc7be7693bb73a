"""Sends the message to a Matrix room.

Arguments: the server, the room, and a file (mode 0600) with the access token of an account that is a member of the room.

    [[channel]]
    name = "matrix"
    kind = "program"
    command = ["/usr/bin/python3", "/opt/guard/channels/to_matrix.py", "https://matrix.example.org", "!room:example.org", "/home/ada/.config/guard/matrix.secret"]

The room must not be encrypted. For an encrypted room, use a client that encrypts, such as matrix-commander, instead of this program.
"""

import sys
import uuid
from urllib.parse import quote

from message import read, secret, send

server, room, token = sys.argv[1:]
text, _ = read()
path = f"/_matrix/client/v3/rooms/{quote(room, safe='')}/send/m.room.message/{uuid.uuid4()}"
send("PUT", server.rstrip("/") + path, {"msgtype": "m.text", "body": text}, secret(token))
