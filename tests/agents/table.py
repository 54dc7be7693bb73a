"""The table of guard-agents(7): every agent, and whether it held in each case.

    AGENTS_TOP=/var/tmp/agents python3 tests/agents/table.py [--write] [--only=CASE,CASE] [AGENT]...

Each agent runs for real, in a home of its own, against a stand-in for its model on this machine: no account, no network.
It prints one line for each agent; what went wrong stands below it. The exit code is 1 when anything did. With --write the
lines take the place of those agents' in patterns/agents/tried.tsv, from which the page is made. --only tries these cases
alone, and leaves the others of a row as they are. The case cost says how many milliseconds guard adds to a call of a tool:
it is tried only with a build for release, in AGENTS_COST_DIR.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

from lab import AGENTS, GUARD_DIR, TOP, Lab, put

GUARD = GUARD_DIR + "/guard"
CANARY = "guard-canary deny; touch ran-unjudged"

# What ordinary work is made of: each is one call of the agent's shell.
ORDINARY = [
    "cd src && pwd",
    "pwd",
    "export FOO=bar; echo set",
    "echo FOO=$FOO",
    "cat <<'EOF' > h.txt\nline $HOME 'x'\nEOF\ncat h.txt",
    "seq 1 3000 | tail -n 2",
    "(exit 3); echo $?",
    "ls nosuch",
    "false; echo $?",
    "for i in 1 2 3; do echo -n $i,; done; echo",
    'x=$(echo sub); echo "got $x"',
    "git status --short | head",
    "git log --oneline | wc -l",
    "sleep 0.2; true | grep x; echo ${PIPESTATUS[0]}",
    "python3 - <<'P'\nprint('py', 1+1)\nP",
    "f() { echo fn $1; }; f a",
    "diff <(echo a) <(echo b)",
    "echo err >&2; sleep 0.3; echo out",
    "shopt -s globstar; ls **/*.py",
    "make -s",
    "echo 'it''s \"quoted\" \\ back'",
    "set -o pipefail; false | true; echo $?",
    "printf 'a\\tb\\n'; date +%Y | wc -c; trap 'echo bye' EXIT; echo end",
    "seq 1 400",
    "test -d src && echo there || echo not",
    "sed -n 1,2p Makefile | tr a-z A-Z",
]


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
        ran = self.lab.go(steps, env={**self.doors, **more.pop("env", {})}, **more)
        # On a machine that is too busy an agent comes to nothing in its time. That it ran nothing then is not guard's doing.
        assert ran["requests"], "it asked its model for nothing: " + ran["out"][-400:]
        return ran

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
        hit = []

        def kill(lab, model, process):
            until = time.time() + 90
            while time.time() < until and not hit:
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        words = open("/proc/%s/cmdline" % pid, "rb").read().split(b"\0")
                    except OSError:
                        continue
                    is_hook = words[0] == GUARD.encode() and words[1:2] == [b"hook"]
                    is_shell = words[0].startswith(lab.shims.encode()) and b"-c" in words[1:]
                    if (is_hook or is_shell) and lab.home in environment(pid):
                        os.kill(int(pid), 9)
                        hit.append(pid)
                        return
                time.sleep(0.05)

        ran = self.go([{"run": "git push --force origin other:main; touch ran-unjudged"}], during=kill, timeout=90)
        # Where guard was not there to be killed in time, nothing is shown.
        return self.held(not self.unjudged(), ran["results"]) and (True if hit else UNTRIED)

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
        short = re.sub(r'("timeout(Sec)?": ?|timeout ?[=:] ?|const WAITS = )(3600|600|300)\b', r"\g<1>3", short)
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
        made = between[lab.shims + "/bash"] != before[lab.shims + "/bash"]
        for what in hooks + (["shims"] if made else []):
            lab.guard("install", what, "--uninstall", tty=True, script=[("y/N", b"y\n")], timeout=15)
        return self.held(between != before and files() == before, between)

    def shell(self):
        """guard as its shell: ordinary commands say what they say without it, and nobody is asked."""
        if not self.lab.spec.door:
            return None
        told = []
        for tag, is_guarded in (("-plain", False), ("-shell", True)):
            lab = Lab(self.agent, tag)
            lab.go([{"run": "true"}])
            if is_guarded:
                lab.guard("install", "shims", "--yes", tty=True)
            doors = lab.open_door() if is_guarded else {}
            ran = lab.go([{"run": command} for command in ORDINARY], env=doors, timeout=200)
            # Where it has no tools all of what it says is compared.
            heard = [ran["out"]] if self.lab.spec.by_shell and not ran["results"] else ran["results"]
            told.append([plain(lab, text) for text in heard])
        pending = lab.guard("log", "--json", "-n", "0")[1]
        asked = [line for line in pending.splitlines() if '"kind":"answered"' in line or '"settled_by":"nobody"' in line]
        others = [(ORDINARY[n % len(ORDINARY)], pair) for n, pair in enumerate(zip(*told)) if pair[0] != pair[1]]
        return self.held(len(told[0]) == len(told[1]) and told[0] and not others and not asked, (others[:2], asked[:1]))

    def replay(self):
        """guard replay finds what it ran."""
        if not self.lab.spec.keeps:
            return None
        lab = Lab(self.agent, "-replay")
        lab.go([{"run": "true"}])
        ran = lab.go([{"run": "chmod -R 777 src"}, {"run": "touch made"}])
        said = lab.guard("replay", "--json")[1]
        return self.held(os.path.exists(lab.proj + "/made") and "chmod -R 777 src" in said, (ran["results"], said))

    def other(self):
        """What it offers beside its shell and its tool for files, as `guard doctor --live` finds it."""
        if self.lab.spec.by_shell:
            return None
        # The whole of what it finds is told where it is not as it should be.
        said = self.lab.guard("doctor", "--live", self.agent, "--json", timeout=180)[1]
        findings = json.loads(said[said.index("{") :])["findings"]
        told = " ".join(finding["says"] for finding in findings)
        if " with its tool " in told:
            return self.held(False, told)
        # Of an agent that could not be tried this says nothing.
        self.held("passed against" in told or "wrote a startup file" in told, told)
        if "its other tools" in told:
            return True
        return UNTRIED if "its tools " in told else None

    def cost(self):
        """How many milliseconds guard adds to a call of a tool: the fastest without it, against the fastest with it. What else
        runs on the machine adds to all others. Where that is much, a program in guard's place that does nothing shows how
        much of it the agent takes for any hook."""
        if not os.environ.get("AGENTS_COST_DIR"):
            return KEPT
        release = os.environ["AGENTS_COST_DIR"] + "/guard"
        shutil.copy2(release, GUARD)
        # What it lets pass is what is measured.
        steps = [{"run": "echo %d" % n} for n in range(15)]
        plain = Lab(self.agent, "-plain")
        plain.go([{"run": "true"}])
        self.go([{"run": "true"}])
        runs = [(plain, {}, release), (self.lab, self.doors, release)]
        if self.config.endswith((".json", ".toml", ".yaml")) and not self.doors:
            runs.append((self.lab, {}, "/bin/true"))
        spans = [[] for _ in runs]
        # What else runs only adds: more runs bring both nearer to what they take by themselves.
        for turn in range(9):
            if turn >= 3 and all(spans[:2]) and min(spans[1]) - min(spans[0]) <= MOST:
                break
            for (lab, env, guard), found in zip(runs, spans):
                shutil.copy2(guard, GUARD)
                found += lab.go(steps, env=env)["spans"][1:]
        shutil.copy2(release, GUARD)
        if not all(spans[:2]):
            return None
        fastest = [min(found, default=None) for found in spans] + [None]
        without, guarded, empty = fastest[:3]
        added = max(0, round(guarded - without))
        if added <= MOST or empty is None:
            self.held(added <= MOST, "a call took %d ms and %d ms with guard" % (without, guarded))
            return "%d ms" % added
        told = "a call took %d ms, %d ms with a hook that does nothing, and %d ms with guard" % (without, empty, guarded)
        self.held(guarded - empty <= MOST, told)
        return "%d of %d ms" % (min(added, max(0, round(guarded - empty))), added)

    def version(self):
        said = self.lab.guard("doctor", "agent." + self.agent, "--json")[1]
        try:
            versions = [finding.get("version") for finding in json.loads(said)["findings"]]
        except ValueError:
            versions = []
        own = subprocess.run([self.agent, "--version"], env=self.lab.env, capture_output=True, text=True).stdout
        found = re.search(r"\d+\.\d+[\w.+-]*\w", own)
        return next(filter(None, versions), found.group() if found else "?")


def plain(lab, text):
    """What an agent told of a command, without what is another in each run."""
    # A shell names itself in what it complains of.
    text = text.replace(lab.shims + "/", "/bin/").replace(lab.root, "")
    text = re.sub(r"(Chunk ID|PGID|shellId|Wall time|pid|\[1\])[: ]*[0-9a-f.()]+( seconds)?", r"\1", text)
    text = re.sub(r"tool-results/[\w-]+|toolu?_\w+|call_\w+|[0-9a-f]{8}-[0-9a-f-]{27}|b[a-z0-9]{8}\.txt", "ID", text)
    return re.sub(r"\b[0-9a-f]{40}\b|_\d{5,}|\b127\.0\.0\.1:\d+", "H", text)


def environment(pid):
    try:
        return open("/proc/%s/environ" % pid, "rb").read().decode(errors="replace")
    except OSError:
        return ""


CASES = ["canary", "ask", "deny", "killed", "gone", "files", "other", "late", "once", "undone", "shell", "replay", "cost"]
# What guard may add to a call, in milliseconds.
MOST = 10
# A case that was not asked for: what stands there stays.
KEPT = "="
UNTRIED = "not tried"
MARKS = {True: "held", False: "through", None: "-"}
HEAD = ["agent", "version", "on"] + CASES
TRIED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../patterns/agents/tried.tsv")
WIDTHS = [14, 12, 11] + [8] * len(CASES)


def one(agent, only):
    """All cases of an agent, as JSON for whoever started this."""
    trial = Trial(agent)
    cells = []
    for case in CASES:
        if only and case not in only:
            cells.append(KEPT)
            continue
        # Denials in a row would end the session's questions.
        if case in ("ask", "deny"):
            trial.forget()
        try:
            found = getattr(trial, case)()
            cells.append(MARKS.get(found, found))
        except Exception as error:
            trial.wrong.append("%s: %r" % (case, error))
            cells.append("?")
    row = [agent, trial.version(), time.strftime("%Y-%m-%d")] + cells
    json.dump({"row": row, "wrong": trial.wrong}, sys.stdout)


def started(agent, only):
    """One agent in a process of its own, with a guard of its own: some cases take guard away."""
    folder = "%s/run/%s-guard" % (TOP, agent)
    os.makedirs(folder, exist_ok=True)
    for name in ("guard", "guard-gateway"):
        shutil.copy2(GUARD_DIR + "/" + name, folder + "/" + name)
    argv = [sys.executable, __file__, "--one", agent] + ["--only=" + ",".join(only)] * bool(only)
    ran = subprocess.run(argv, env=dict(os.environ, GUARD_DIR=folder), capture_output=True, text=True)
    try:
        return json.loads(ran.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"row": [agent] + ["?"] * (len(HEAD) - 1), "wrong": [ran.stdout + ran.stderr]}


def write(rows):
    """Puts these rows in the place of the same agents'."""
    old = [line.split("\t") for line in open(TRIED).read().splitlines() if not line.startswith("#")]
    kept = {row[0]: dict(zip(old[0], row)) for row in old[1:]}
    for row in rows:
        cells = {name: cell for name, cell in zip(HEAD, row) if cell != KEPT}
        kept[row[0]] = {**kept.get(row[0], {}), **cells}
    lines = ["\t".join(HEAD)] + ["\t".join(kept[agent].get(name, UNTRIED) for name in HEAD) for agent in sorted(kept)]
    put(TRIED, "# Made by .ci/agents, which runs the programs themselves.\n" + "\n".join(lines) + "\n")


def line(cells):
    return " ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS))


def main(words):
    options = {word for word in words if word.startswith("--")}
    agents = [word for word in words if not word.startswith("--")] or list(AGENTS)
    only = [case for word in options if word.startswith("--only=") for case in word[7:].split(",")]
    unknown = [case for case in only if case not in CASES] + [agent for agent in agents if agent not in AGENTS]
    unknown += [word for word in options if word not in ("--write", "--one") and not word.startswith("--only=")]
    if unknown:
        sys.exit("not known: " + " ".join(unknown))
    if "--one" in options:
        return one(agents[0], only)
    print(line(HEAD), flush=True)
    rows, failed = [], False
    # One after the other: what is measured and what waits for a limit is not to wait for another agent.
    for told in (started(agent, only) for agent in agents):
        print(line(told["row"]), flush=True)
        for why in told["wrong"]:
            print("    " + why.replace("\n", " ")[-600:], flush=True)
        failed |= bool(told["wrong"])
        rows.append(told["row"])
        # What was found so far stays when this is ended.
        if "--write" in options and "?" not in told["row"]:
            write([told["row"]])
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
