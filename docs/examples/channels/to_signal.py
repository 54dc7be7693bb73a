"""Tells somebody by Signal, with signal-cli. Its arguments: the number that signal-cli is registered with, and the recipient's.

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
# By standard input: arguments can be read by every account of the machine.
command = ["signal-cli", "-a", account, "send", "--message-from-stdin", recipient]
subprocess.run(command, input=text, text=True, check=True, timeout=9, stdout=subprocess.DEVNULL)
