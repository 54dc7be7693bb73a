function ask(call) {
  return new Promise((resolve) => {
    let said = "";
    let errors = "";
    let timer;
    const end = (answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    const deny = (reason) => end({ decision: "deny", reason: `guard: ${reason}` });
    try {
      const input = JSON.stringify(call);
      const child = spawn(GUARD, ["hook", "--agent", "@AGENT@", "--timeout", String(WAITS)]);
      timer = setTimeout(() => {
        child.kill("SIGKILL");
        deny("it did not answer in time");
      }, WAITS * 1000);
      child.on("error", (error) => deny(`it could not be started: ${error.message}`));
      child.stdin.on("error", () => {});
      child.stdout.on("data", (chunk) => (said += chunk));
      child.stderr.on("data", (chunk) => (errors += chunk));
      child.on("close", (code) => {
        if (code !== 0) return deny(errors.trim() || `it ended with ${code}`);
        let answer;
        try {
          answer = JSON.parse(said);
        } catch {
          return deny("its answer cannot be read");
        }
        const known = ["none", "allow", "ask", "deny"].includes(answer?.decision);
        return known ? end(answer) : deny("its answer holds no decision");
      });
      child.stdin.end(input);
    } catch (error) {
      deny(`it could not be asked: ${error.message}`);
    }
  });
}
