// guard judges each call of a tool before OpenCode (2.x) carries it out.
// Whatever goes wrong on the way to a clear answer is a denial.
import { spawn } from "node:child_process";

const GUARD = "guard";
// Seconds for which guard may think, or wait for a person.
const WAITS = 600;
// What OpenCode weighs, by the name of the argument that it hands over; all else is handed over as it is.
const ARGUMENT = new Map([
  ["bash", "command"],
  ["shell", "command"],
  ["write", "filePath"],
  ["edit", "filePath"],
  ["patch", "filePath"],
]);

// @ASK@

export default {
  id: "guard",
  async setup(ctx) {
    await ctx.permission.hook("evaluate", async (event) => {
      if (event.effect === "deny") return;
      const tool = event.action;
      const args = { [ARGUMENT.get(tool) ?? "resource"]: event.resource };
      const cwd = ctx.directory || process.cwd();
      const answer = await ask({ tool, args, cwd, session: event.sessionID, asks: true });
      if (answer.decision === "none") return;
      event.effect = answer.decision;
      if (answer.reason) event.message = answer.reason;
    });
  },
};
