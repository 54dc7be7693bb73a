// Renders statistics as small charts, and the sessions. Each chart has a text description.
import { el } from "/cards.js";

function svg(name, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

const WIDE = 320;

/** Renders horizontal bars, one for each row. The share of `part` in `all` is filled. */
function bars(title, rows) {
  if (rows.length === 0) return null;
  const most = Math.max(1, ...rows.map((row) => row.all));
  const high = rows.length * 34;
  const words = rows.map((row) => `${row.name} ${row.text}`).join(", ");
  const drawn = rows.flatMap((row, at) => {
    const top = at * 34;
    return [
      svg("text", { x: 0, y: top + 12, class: "name" }, row.name.length > 42 ? `${row.name.slice(0, 41)}…` : row.name),
      svg("text", { x: WIDE, y: top + 12, class: "value", "text-anchor": "end" }, row.text),
      svg("rect", { x: 0, y: top + 17, width: Math.max(1, row.all / most * WIDE), height: 9, rx: 2, class: "all" }),
      svg("rect", { x: 0, y: top + 17, width: row.part / most * WIDE, height: 9, rx: 2, class: "part" }),
    ];
  });
  return el("figure", {}, el("figcaption", {}, title),
    svg("svg", { viewBox: `0 0 ${WIDE} ${high}`, role: "img", "aria-label": `${title}: ${words}` }, ...drawn));
}

function length(ms) {
  return ms >= 60000 ? `${Math.round(ms / 60000)} min` : `${(ms / 1000).toFixed(1)} s`;
}

/** Renders the statistics of a number of days. */
export function figures(stats) {
  const rules = Object.entries(stats.rules).sort(([, [one]], [, [other]]) => other - one).slice(0, 10);
  const agents = Object.entries(stats.agents).sort(([, one], [, other]) => other - one).slice(0, 10);
  const of = (name, all) => ({ name, all, part: all, text: String(all) });
  const ends = [["allowed", stats.allowed], ["denied", stats.denied], ["unanswered", stats.unanswered]];
  return [
    el("p", {}, `Commands: ${stats.commands}. Ran without asking: ${stats.unasked}; asked about: ${stats.asked}; refused without asking: ${stats.refused}.`),
    stats.median_ms === null || stats.median_ms === undefined ? null
      : el("p", {}, `Time to answer: median ${length(stats.median_ms)}, 90th percentile ${length(stats.ninetieth_ms)}.`),
    stats.asked ? bars("How it was answered", ends.map(([name, count]) => of(name, count))) : null,
    bars("Asked by day", Object.entries(stats.days).map(([day, count]) => of(day, count))),
    bars("Asked by rule, and how much of it was allowed",
      rules.map(([name, [all, part]]) => ({ name, all, part, text: `${part} of ${all}` }))),
    bars("Asked by agent", agents.map(([name, count]) => of(name, count))),
  ].filter(Boolean);
}

/** Renders the sessions. `does` contains the handlers of the buttons. */
export function sessions(all, does) {
  if (all.length === 0) return [el("p", {}, "No sessions with prompts yet.")];
  return all.map((session, at) => {
    const how = [`${session.prompts_last_hour} ${session.prompts_last_hour === 1 ? "prompt" : "prompts"} in the last hour`, `${session.denials_in_a_row} denied in a row`];
    if (session.waiting) how.push(session.waiting === 1 ? "1 waiting" : `${session.waiting} waiting`);
    if (session.trusted_by) how.push(`trusted by grant ${session.trusted_by}; to revoke it: guard allow remove ${session.trusted_by}`);
    if (session.edited_row) how.push(`stopped: row ${session.edited_row} of the record was changed after it was written; see guard verify`);
    else if (session.stopped) how.push("stopped after too many denials");
    const title = `session-${at}`;
    const article = el("article", { "aria-labelledby": title },
      el("h2", { id: title }, session.id_shown),
      el("p", { class: "soft" }, `${how.join(" · ")} · ${new Date(session.last).toLocaleString()}`));
    const buttons = el("div", { class: "does" });
    if (session.stopped && !session.edited_row) {
      const why = el("input", { "aria-label": `Reason to resume ${session.id_shown}`, placeholder: "reason to resume", maxlength: "500", "data-do": "why" });
      buttons.append(why, el("button", { type: "button", class: "yes", "data-do": "resume",
        onclick: () => does.resume(session.id, why.value) }, "Resume"));
    } else if (!session.trusted_by && !session.stopped) {
      // Trust lets many commands run without asking, so it takes a second tap to confirm it.
      const button = el("button", { type: "button", "data-do": "trust", onclick: () => {
        if (button.dataset.sure) return does.trust(session.id);
        button.dataset.sure = "1";
        button.textContent = "Yes: run tier 2 and below unasked until it ends";
      } }, "Trust this session");
      buttons.append(button);
    }
    article.append(buttons);
    return article;
  });
}
