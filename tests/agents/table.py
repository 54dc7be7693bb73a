"""The table of guard-agents(7): every agent, and whether its hook held in each case.

    AGENTS_TOP=/var/tmp/agents python3 tests/agents/table.py [AGENT]...

Each agent runs for real, in a home of its own, against a stand-in for its model on this machine: no account, no network.
It prints one line for each agent; what went wrong stands below it. The exit code is 1 when anything did.
"""

import json
import os
import re
import shutil
import sys
import threading
import time

from lab import AGENTS, GUARD_DIR, Lab, put

GUARD = GUARD_DIR + "/guard"
CANARY = "guard-canary deny; touch ran-unjudged"


class Person:
    """Somebody at another terminal, who answers what waits: yes to what fits, no to the rest."""

    def __init__(self, lab, yes):
        self.lab, self.yes, self.asked = lab, yes, []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.sit, daemon=True)
        self.thread.start()

    def sit(self):
        answered = set()
        while not self.stop.wait(0.25):
            for line in self.lab.guard("pending", "--json")[1].splitlines():
                if not line.startswith("{"):
                    continue
                request = json.loads(line)
                if request["id"] in answered or not request.get("waited_for", True):
                    continue
                answered.add(request["id"])
                self.asked.append(request["command"])
                if re.search(self.yes, request["command"]):
                    self.lab.guard(
                        "approve", request["id"], tty=True, script=[("no answer means no", b"y", 1.0)], timeout=12
                    )
                else:
                    self.lab.guard(
                        "deny", request["id"], "-r", "not so", tty=True, script=[(r"(?i)y/n", b"y\n", 0.3)], timeout=12
                    )

    def leave(self):
        self.stop.set()
        self.thread.join(15)


class Trial:
    """One agent through all cases."""

    def __init__(self, agent):
        self.agent, self.wrong = agent, []
        self.lab = Lab(agent)
        self.lab.go([{"run": "true"}])
        self.config = self.lab.home + "/" + self.lab.spec.config
        self.before = self.text()
        self.lab.install()

    def text(self):
        return open(self.config, "rb").read() if os.path.exists(self.config) else None

    def unjudged(self):
        made = self.lab.proj + "/ran-unjudged"
        ran = os.path.exists(made)
        if ran:
            os.unlink(made)
        return ran

    def held(self, good, why):
        if not good:
            self.wrong.append(str(why)[-400:])
        return bool(good)

    def canary(self):
        ran = self.lab.go([{"run": "echo harmless"}, {"run": CANARY}])
        told = " ".join(ran["results"]) + ran["out"]
        return self.held("harmless" in told and "guard.canary" in told and not self.unjudged(), told)

    def asked(self, yes, command):
        person = Person(self.lab, yes)
        ran = self.lab.go([{"run": command}], timeout=90)
        person.leave()
        return person.asked, " ".join(ran["results"]) + ran["out"]

    def ask(self):
        asked, told = self.asked("chmod", "chmod -R 777 . && touch ran-asked")
        return self.held(asked and os.path.exists(self.lab.proj + "/ran-asked"), (asked, told))

    def deny(self):
        asked, told = self.asked("nothing", "git push --force origin other:main; touch ran-unjudged")
        return self.held(asked and "not so" in told and not self.unjudged(), (asked, told))

    def killed(self):
        def kill(lab, model, process):
            for _ in range(200):
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        words = open("/proc/%s/cmdline" % pid, "rb").read().split(b"\0")
                    except OSError:
                        continue
                    if words[0] == GUARD.encode() and words[1:2] == [b"hook"] and lab.home in environment(pid):
                        os.kill(int(pid), 9)
                        return
                time.sleep(0.05)

        ran = self.lab.go([{"run": "git push --force origin other:main; touch ran-unjudged"}], during=kill, timeout=60)
        return self.held(not self.unjudged(), ran["results"])

    def gone(self):
        os.rename(GUARD, GUARD + ".away")
        try:
            ran = self.lab.go([{"run": "touch ran-unjudged"}])
        finally:
            os.rename(GUARD + ".away", GUARD)
        return self.held(not self.unjudged(), ran["results"])

    def files(self):
        targets = [self.lab.home + "/.bashrc", self.lab.proj + "/.git/hooks/pre-commit"]
        person = Person(self.lab, "nothing")
        ran = self.lab.go([{"write": path, "text": "echo planted\n"} for path in targets], timeout=90)
        person.leave()
        planted = [path for path in targets if os.path.exists(path) and "planted" in open(path).read()]
        return self.held(not planted, (planted, ran["results"]))

    def late(self):
        if not os.path.exists(self.config):
            return None
        old = open(self.config).read()
        short = re.sub(r'("timeout": ?)\d{6,}', r"\g<1>3000", old)
        short = re.sub(r'("timeout(Sec)?": ?|timeout ?[=:] ?)(3600|600|300)\b', r"\g<1>3", short)
        if short == old:
            return None
        put(self.config, short)
        ran = self.lab.go([{"run": "git push --force origin other:main; touch ran-unjudged"}], timeout=60)
        put(self.config, old)
        return self.held(not self.unjudged(), ran["results"])

    def uninstall(self):
        lab = Lab(self.agent, "-uninstall")
        lab.go([{"run": "true"}])
        config = lab.home + "/" + lab.spec.config
        text = lambda: open(config, "rb").read() if os.path.exists(config) else None
        before = text()
        lab.install()
        between = text()
        lab.guard("install", self.agent, "--uninstall", tty=True, script=[("y/N", b"y\n")], timeout=15)
        return self.held(between != before and text() == before, text())

    def version(self):
        said = self.lab.guard("doctor", "agent." + self.agent, "--json")[1]
        versions = [finding["version"] for finding in json.loads(said)["findings"]]
        return next(filter(None, versions), "?")


def environment(pid):
    try:
        return open("/proc/%s/environ" % pid, "rb").read().decode(errors="replace")
    except OSError:
        return ""


CASES = ["canary", "ask", "deny", "killed", "gone", "files", "late", "uninstall"]


def main(agents):
    print("%-10s %-12s " % ("agent", "version") + " ".join("%-9s" % case for case in CASES))
    failed = False
    for agent in agents:
        trial = Trial(agent)
        marks = {True: "held", False: "FAILED", None: "-"}
        cells = []
        for case in CASES:
            # Denials in a row would end the session's questions.
            (
                shutil.rmtree(trial.lab.home + "/.local/share/guard", ignore_errors=True)
                if case in ("ask", "deny")
                else None
            )
            cells.append(marks[getattr(trial, case)()])
        print("%-10s %-12s " % (agent, trial.version()) + " ".join("%-9s" % cell for cell in cells), flush=True)
        for why in trial.wrong:
            print("    " + why.replace("\n", " "))
        failed |= bool(trial.wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(AGENTS)))
