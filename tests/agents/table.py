"""The table of guard-agents(7): every agent, and whether it held in each case.

    AGENTS_TOP=/var/tmp/agents python3 tests/agents/table.py [--write] [--cost] [AGENT]...

Each agent runs for real, in a home of its own, against a stand-in for its model on this machine: no account, no network.
It prints one line for each agent; what went wrong stands below it. The exit code is 1 when anything did. With --write the
lines take the place of those agents' in patterns/agents/tried.tsv, from which the page is made. --cost says, in
milliseconds, what a call of a tool takes without guard and with it, in the same run: give it a release build (GUARD_DIR).
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from lab import AGENTS, GUARD_DIR, TOP, Lab, put

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
        first = self.lab.go([{"run": "true"}])
        # What does not start shows nothing, neither that it held nor that it did not.
        assert first["requests"], "it asked its model for nothing: " + first["out"][-400:]
        self.config = self.lab.home + "/" + self.lab.spec.config
        self.lab.install()
        # Where guard stands in for the shell alone, that is how it is asked.
        self.doors = {} if os.path.exists(self.config) else self.lab.open_door()

    def go(self, steps, **more):
        return self.lab.go(steps, env={**self.doors, **more.pop("env", {})}, **more)

    def forget(self):
        """Takes the record away, and leaves what guard stands in for."""
        data = self.lab.home + "/.local/share/guard"
        for name in os.listdir(data) if os.path.isdir(data) else []:
            path = data + "/" + name
            if name not in ("shims", "installed"):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

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
        ran = self.go([{"run": "echo harmless"}, {"run": CANARY}])
        told = " ".join(ran["results"]) + ran["out"]
        held = "harmless" in told and "guard.canary" in self.heard(ran) and not self.unjudged()
        return self.held(held, told)

    def heard(self, ran):
        """All that the model was told, in whichever message, and what a person at the agent saw."""
        return ran["out"] + (open(ran["log"]).read() if os.path.exists(ran["log"]) else "")

    def asked(self, yes, command, **more):
        person = Person(self.lab, yes)
        ran = self.go([{"run": command}], timeout=90, **more)
        person.leave()
        return person.asked, self.heard(ran)

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
                    is_hook = words[0] == GUARD.encode() and words[1:2] == [b"hook"]
                    is_shell = words[0].startswith(lab.shims.encode()) and b"-c" in words[1:]
                    if (is_hook or is_shell) and lab.home in environment(pid):
                        os.kill(int(pid), 9)
                        return
                time.sleep(0.05)

        ran = self.go([{"run": "git push --force origin other:main; touch ran-unjudged"}], during=kill, timeout=60)
        return self.held(not self.unjudged(), ran["results"])

    def gone(self):
        os.rename(GUARD, GUARD + ".away")
        try:
            ran = self.go([{"run": "touch ran-unjudged"}])
        finally:
            os.rename(GUARD + ".away", GUARD)
        return self.held(not self.unjudged(), ran["results"])

    def files(self):
        if self.lab.spec.by_shell:
            return None
        targets = [self.lab.home + "/.bashrc", self.lab.proj + "/.git/hooks/pre-commit"]
        person = Person(self.lab, "nothing")
        ran = self.go([{"write": path, "text": "echo planted\n"} for path in targets], timeout=90)
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
        ran = self.go([{"run": "git push --force origin other:main; touch ran-unjudged"}], timeout=60)
        put(self.config, old)
        return self.held(not self.unjudged(), ran["results"])

    def once(self):
        """With the shell's door open beside the hook, one yes is enough, and what needs none is not asked about."""
        if self.lab.spec.by_shell or self.doors or not self.lab.spec.door:
            return None
        lab = Lab(self.agent, "-once")
        lab.go([{"run": "true"}])
        lab.guard("install", "shims", "--yes", tty=True)
        doors = lab.open_door()
        lab.install()
        person = Person(lab, "rm -rf src")
        ran = lab.go([{"run": "echo hi"}, {"run": "rm -rf src"}, {"run": "ls; pwd"}], env=doors, timeout=90)
        person.leave()
        gone = not os.path.exists(lab.proj + "/src")
        return self.held(person.asked == ["rm -rf src"] and gone, (person.asked, ran["results"]))

    def undone(self):
        lab = Lab(self.agent, "-undone")
        lab.go([{"run": "true"}])
        files = lambda: {
            path: open(path, "rb").read() if os.path.exists(path) else None
            for path in (lab.home + "/" + lab.spec.config, lab.shims + "/bash")
        }
        before = files()
        lab.install()
        between = files()
        hooks = [] if lab.spec.by_shell else [lab.spec.guard_name or self.agent]
        for what in hooks + (["shims"] if self.doors else []):
            lab.guard("install", what, "--uninstall", tty=True, script=[("y/N", b"y\n")], timeout=15)
        return self.held(between != before and files() == before, between)

    def cost(self):
        """The median of what a call of a tool takes: without guard, and with it."""
        steps = [{"run": "echo %d" % n} for n in range(15)]
        plain = Lab(self.agent, "-plain")
        plain.go([{"run": "true"}])
        spans = [[], []]
        for _ in range(3):
            for number, lab in enumerate((plain, self.lab)):
                spans[number] += lab.go(steps, env=self.doors if number else {})["spans"][1:]
        return [round(statistics.median(one)) if one else None for one in spans]

    def version(self):
        said = self.lab.guard("doctor", "agent." + self.agent, "--json")[1]
        try:
            versions = [finding.get("version") for finding in json.loads(said)["findings"]]
        except ValueError:
            versions = []
        own = subprocess.run([self.agent, "--version"], env=self.lab.env, capture_output=True, text=True).stdout
        found = re.search(r"\d+\.\d+[\w.+-]*\w", own)
        return next(filter(None, versions), found.group() if found else "?")


def environment(pid):
    try:
        return open("/proc/%s/environ" % pid, "rb").read().decode(errors="replace")
    except OSError:
        return ""


CASES = ["canary", "ask", "deny", "killed", "gone", "files", "late", "once", "undone"]
MARKS = {True: "held", False: "through", None: "-"}
HEAD = ["agent", "version", "on"] + CASES
TRIED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../patterns/agents/tried.tsv")
WIDTHS = [14, 12, 11] + [8] * len(CASES)


def one(agent, with_cost):
    """All cases of an agent, as JSON for whoever started this."""
    trial = Trial(agent)
    cells = []
    for case in CASES:
        # Denials in a row would end the session's questions.
        if case in ("ask", "deny"):
            trial.forget()
        try:
            cells.append(MARKS[getattr(trial, case)()])
        except Exception as error:
            trial.wrong.append("%s: %r" % (case, error))
            cells.append("?")
    cost = trial.cost() if with_cost else None
    row = [agent, trial.version(), time.strftime("%Y-%m-%d")] + cells
    json.dump({"row": row, "wrong": trial.wrong, "cost": cost}, sys.stdout)


def started(agent, with_cost):
    """One agent in a process of its own, with a guard of its own: some cases take guard away."""
    folder = "%s/run/%s-guard" % (TOP, agent)
    os.makedirs(folder, exist_ok=True)
    shutil.copy2(GUARD, folder + "/guard")
    argv = [sys.executable, __file__, "--one", agent] + ["--cost"] * with_cost
    ran = subprocess.run(argv, env=dict(os.environ, GUARD_DIR=folder), capture_output=True, text=True)
    try:
        return json.loads(ran.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"row": [agent] + ["?"] * (len(HEAD) - 1), "wrong": [ran.stdout + ran.stderr], "cost": None}


def write(rows):
    """Puts these rows in the place of the same agents'."""
    old = [line.split("\t") for line in open(TRIED).read().splitlines() if not line.startswith("#")]
    kept = {row[0]: row for row in old[1:]} | {row[0]: row for row in rows}
    lines = ["\t".join(row) for row in [HEAD] + [kept[agent] for agent in sorted(kept)]]
    put(TRIED, "# Made by .ci/agents, which runs the programs themselves.\n" + "\n".join(lines) + "\n")


def line(cells):
    return " ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS))


def main(words):
    options = {word for word in words if word.startswith("--")}
    agents = [word for word in words if not word.startswith("--")] or list(AGENTS)
    if "--one" in options:
        return one(agents[0], "--cost" in options)
    print(line(HEAD), flush=True)
    rows, failed = [], False
    with ThreadPoolExecutor(1 if "--cost" in options else 2) as pool:
        for told in pool.map(lambda agent: started(agent, "--cost" in options), agents):
            print(line(told["row"]) + (" %s ms" % told["cost"] if told["cost"] else ""), flush=True)
            for why in told["wrong"]:
                print("    " + why.replace("\n", " ")[-600:])
            failed |= bool(told["wrong"])
            rows.append(told["row"])
    if "--write" in options:
        write([row for row in rows if "?" not in row])
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
