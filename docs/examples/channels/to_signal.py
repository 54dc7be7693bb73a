"""Sends the message to a Signal user with signal-cli.

Arguments: the number with which signal-cli is registered, and the number of the recipient.

    [[channel]]
    name = "signal"
    kind = "program"
    command = ["/usr/bin/python3", "/opt/guard/channels/to_signal.py", "+15550100", "+15550101"]
"""

import subprocess
import sys

from message import read

account, recipient = sys.argv[1:]
text, _ = read()
# Through standard input, because every account of the machine can read the arguments of a process.
command = ["signal-cli", "-a", account, "send", "--message-from-stdin", recipient]
subprocess.run(command, input=text, text=True, check=True, timeout=9, stdout=subprocess.DEVNULL)
