// guard judges each command and each change of a file before OpenCode (2.x) carries it out.
// Whatever goes wrong on the way to a clear answer is a denial.
import { spawn } from "node:child_process";

const GUARD = "guard";
// Seconds for which guard may think, or wait for a person.
const WAITS = 600;
// What OpenCode weighs, and the tool that guard knows it as.
const JUDGED = new Map([
  ["bash", "bash"],
  ["shell", "bash"],
  ["write", "write"],
  ["edit", "edit"],
  ["patch", "edit"],
]);

// @ASK@

export default {
  id: "guard",
  async setup(ctx) {
    await ctx.permission.hook("evaluate", async (event) => {
      const tool = JUDGED.get(event.action);
      if (tool === undefined || event.effect === "deny") return;
      const args = tool === "bash" ? { command: event.resource } : { filePath: event.resource };
      const cwd = ctx.directory || process.cwd();
      const answer = await ask({ tool, args, cwd, session: event.sessionID, asks: true });
      if (answer.decision === "none") return;
      event.effect = answer.decision;
      if (answer.reason) event.message = answer.reason;
    });
  },
};
