// Renders requests as elements. All text is inserted as text, never as markup.

/** Creates an element with attributes and children. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Marks the invisible characters of a text. */
function visible(text) {
  return text.split(/(⟨[^⟩]*⟩)/)
    .map((part) => part.startsWith("⟨") ? el("mark", { class: "odd", title: "made visible" }, part) : part);
}

/** Renders a command, and marks the parts with findings and invisible characters. */
export function command({ parts, command_shown }) {
  const pre = el("pre", { tabindex: "0", "aria-label": "Command" });
  for (const { text, tier } of parts ?? [{ text: command_shown }]) {
    const shown = visible(text);
    if (tier === null || tier === undefined) pre.append(...shown);
    else pre.append(el("mark", { class: "part", "data-tier": tier, title: `tier ${tier}` }, ...shown));
  }
  return pre;
}

/** Renders the findings with what they refer to, and the evidence, as the card at a terminal does. */
function reasons({ grounds, why }) {
  if (!grounds?.findings?.length) return el("ul", { class: "reasons" }, why ? el("li", {}, why) : null);
  const finding = ({ tier, rule, reason, instead, touches, lowered }) => el("li", { "data-tier": tier }, reason,
    el("span", { class: "rule" }, [`tier ${tier} · ${rule}`, touches?.length ? `touches ${touches.join(", ")}` : "", lowered ?? ""]
      .filter(Boolean).join(" · ")),
    instead ? el("span", { class: "instead" }, `safer: ${instead}`) : null);
  const evidence = grounds.evidence.map((sentence) => el("li", { class: "evidence" }, sentence));
  return el("ul", { class: "reasons", "aria-label": "Why it is asked about" }, ...grounds.findings.map(finding), ...evidence);
}

/** Formats a score as the terminal does. */
const points = (score) => Number.isInteger(score) ? score.toFixed(1) : `${score}`;

/** Formats the score with its components, and whether the command can be undone. */
function score(request) {
  const more = (request.grounds?.context ?? []).map(({ words, weight, detail }) =>
    `${words}${detail ? ` (${detail})` : ""} ${weight < 0 ? "" : "+"}${weight}`);
  const undo = request.grounds ? `; ${request.grounds.undo}` : "";
  return `${[`${points(request.score)} (tier ${request.tier}`, ...more].join(", ")})${undo}`;
}

function facts(request) {
  const list = el("dl");
  const add = (name, value) => value && list.append(el("dt", {}, name), el("dd", {}, value));
  if (request.decision) add("decides", request.crisis ? "a person, each time; the requester reports a crisis" : "a person, each time");
  add("score", score(request));
  if (request.review) add("reviewer", `${request.review.by}: ${request.review.says}: ${request.review.reason}`);
  add("reason", request.said);
  add("in", request.cwd);
  add("requester", `${request.agent ?? request.origin} · ${request.session} · ${request.user}`);
  add("request", `${request.id} · digest ${request.short_digest}`);
  if (request.redacted) add("hidden", "a secret in this command is hidden");
  if (request.approvals > 1) add("needs", `${request.approvals} approvers; so far: ${(request.approved_by ?? []).join(", ") || "none"}`);
  return list;
}

const HOUR = 3600 * 1000;
const LASTS = [
  ["once", "this once"], ["session", "until its session ends"], ["1", "for an hour"], ["24", "for a day"], ["168", "for a week"],
  ["always", "until revoked"],
];

/** Renders the choice of the scope of an approval, if the request offers one. `value` returns the selected scope. */
function reach(request, id) {
  const offers = request.offers ?? [];
  if (offers.length < 2) return null;
  const choice = el("select", { id: `lasts-${id}`, class: "lasts", "aria-label": "How long exactly this command may run without asking" },
    ...LASTS.filter(([value]) => offers.includes(value) || (Number(value) && offers.includes("until")))
      .map(([value, words]) => el("option", { value }, words)));
  const value = () => {
    if (choice.value === "once") return {};
    if (!Number(choice.value)) return { scope: choice.value };
    return { scope: "until", until: new Date(Date.now() + Number(choice.value) * HOUR).toISOString() };
  };
  return { node: el("p", { class: "reach" }, "Approve ", choice), value };
}

/** Renders the field for the code that guard itself shows for a request, with the number of attempts left. */
function codeField({ codes_left: left }, id) {
  const field = el("input", { id: `code-${id}`, "data-code": "", required: "", "aria-label": "Code that guard shows where the command waits",
    "aria-describedby": `codes-${id}`, placeholder: "code", maxlength: "16", inputmode: "numeric", autocomplete: "off" });
  const tries = left === 1 ? "A wrong code ends the request." : `It shows another one each time it asks; after ${left} wrong codes the request ends.`;
  return el("p", { class: "code" }, field,
    el("span", { id: `codes-${id}` }, `Type the code that guard shows where the command waits. ${tries}`));
}

/** Renders the card of a waiting request. `does` contains the handlers of its buttons. */
export function card(request, { bar, signed, grantSigned, replies, selected, does }) {
  const id = request.action_id;
  const article = el("article", { id: `card-${id}`, "data-tier": request.tier, "aria-labelledby": `title-${id}`, tabindex: "-1" });
  const left = el("span", { class: "left" }, `${request.timeout_secs} s`);
  left.dataset.until = Date.parse(request.expires);
  article.append(
    el("h2", { id: `title-${id}` }, `${request.tier_name} (tier ${request.tier})`, left),
    command(request),
    reasons(request),
    facts(request),
  );
  if (bar && !signed) article.append(el("p", { class: "bar" }, bar));
  if (signed || grantSigned) {
    article.append(el("p", { class: "compare" }, "Before you sign, compare the digest ", el("strong", {}, request.short_digest),
      " with the one that guard shows where the command waits, or in guard pending."));
  }
  const code = request.codes_left && (signed || grantSigned) ? codeField(request, id) : null;
  const typed = () => code?.querySelector("input").value ?? "";
  const words = el("input", { id: `words-${id}`, "aria-label": "Reason for the requester", placeholder: "reason (optional)", maxlength: "500" });
  const buttons = el("div", { class: "does" });
  const lasts = reach(request, id);
  const given = lasts ? lasts.value : () => ({});
  if (signed) {
    // A browser shows the user only the name of this site when they sign, never the command. An honest page is needed for
    // the signed command to be the one shown here.
    buttons.append(el("button", { type: "button", class: "yes", "data-do": "sign", onclick: () => does.sign(id, words.value, given(), typed()) }, "Approve with passkey"));
  } else if (!bar) {
    const pick = el("input", { type: "checkbox", onchange: (event) => does.select(id, event.target.checked) });
    pick.checked = selected;
    if (request.tier <= 2) buttons.append(el("label", { class: "pick" }, pick, "select"));
    buttons.append(el("button", { type: "button", class: "yes", "data-do": "approve", onclick: () => {
      const scope = given();
      if (grantSigned && scope.scope) does.sign(id, words.value, scope, typed());
      else does.approve(id, words.value, scope);
    } }, "Approve"));
  }
  buttons.append(el("button", { type: "button", class: "no", "data-do": "deny", onclick: () => does.deny(id, words.value) }, "Deny"));
  for (const reply of replies) {
    buttons.append(el("button", { type: "button", "data-do": "reply", onclick: () => does.deny(id, reply) }, `No: ${reply}`));
  }
  buttons.append(el("button", { type: "button", "data-do": "story", "aria-label": `Details of request ${request.id}`, onclick: () => does.story(id) }, "Details"));
  if (code) article.append(code);
  article.append(words);
  if (lasts && (signed || !bar)) article.append(lasts.node);
  article.append(buttons);
  return article;
}

/** Renders the effects of several requests: each once with its number of requests, the highest tier first. */
export function effects(requests) {
  const all = new Map();
  for (const request of [...requests].sort((one, other) => other.tier - one.tier)) {
    const one = all.get(request.why) ?? { tier: request.tier, count: 0, commands: [] };
    one.count += 1;
    one.commands.push(request.command_shown);
    all.set(request.why, one);
  }
  return [...all].map(([why, { tier, count, commands }]) =>
    el("li", {}, `${count} × tier ${tier}: ${why}`, el("code", {}, commands.join("  ·  "))));
}

/** Renders one line of the history of requests. */
export function past(request, open) {
  const when = new Date(request.decided ?? request.filed).toLocaleString();
  const who = request.decided_by ? ` by ${request.decided_by}` : "";
  const words = request.words ? `: ${request.words}` : "";
  return el("div", { class: "past" },
    el("p", {}, el("button", { type: "button", class: "line", onclick: () => open(request.action_id) }, el("code", {}, request.command_shown))),
    el("p", { class: "soft" }, `${request.status}${who}${words} · tier ${request.tier} · ${request.cwd} · ${when}`));
}

/** Describes the outcome of a row of the record. */
function became(row) {
  const end = row.signal !== undefined ? `, ended by signal ${row.signal}` : row.exit !== undefined ? `, exit ${row.exit}` : "";
  const words = row.words ? `: ${row.words}` : "";
  const by = row.settled_by ? ` (${row.settled_by.replaceAll("_", " ")})` : "";
  return `${row.decision ?? row.kind}${by}${words}${end}`;
}

/** Renders one row of the record. */
export function row(entry) {
  const tier = entry.tier === undefined ? "" : ` · tier ${entry.tier}`;
  return el("div", { class: "past" },
    el("p", {}, el("code", {}, entry.command_shown ?? entry.kind)),
    el("p", { class: "soft" }, `${became(entry)}${tier} · ${entry.cwd ?? ""} · ${new Date(entry.time).toLocaleString()} · row ${entry.id}`));
}

const EVENTS = {
  "request.filed": "asked", "request.offered": "shown on", "request.refused": "rejected by", "request.late": "nobody answered in time",
  "request.answered": "answered", "request.used": "the answer was used", "request.void": "void: the command changed after the request",
  "request.lapsed": "expired", "request.partly": "approved by one approver", "request.escalated": "escalated",
  "request.finished": "ended",
};

/** Renders the details of a request. */
export function story({ request, events, rows }, back) {
  const line = (at, text) => el("li", {}, el("time", { datetime: at }, new Date(at).toLocaleString()), ` ${text}`);
  const happened = [[request.filed, `requested by ${request.agent ?? request.origin}`]];
  for (const event of events) {
    if (event.type === "request.filed" || (event.type === "request.answered" && request.decided)) continue;
    happened.push([event.at, [EVENTS[event.type] ?? event.type, event.channel, event.why].filter(Boolean).join(" ")]);
  }
  if (request.decided) {
    happened.push([request.decided, `${request.status} by ${request.decided_by}${request.words ? `: ${request.words}` : ""}`]);
  }
  for (const entry of rows) {
    const findings = (entry.findings ?? []).map((finding) => finding.reason ?? finding.rule).join("; ");
    happened.push([entry.time, `row ${entry.id} of the record: ${became(entry)}${findings ? ` — ${findings}` : ""}`]);
  }
  happened.sort(([one], [other]) => Date.parse(one) - Date.parse(other));
  return [
    el("h2", { tabindex: "-1" }, `Request ${request.id}: ${request.status}`),
    command(request),
    reasons(request),
    facts(request),
    el("h3", {}, "What happened"),
    el("ol", { class: "happened" }, ...happened.map(([at, text]) => line(at, text))),
    el("button", { type: "button", onclick: back }, "Back"),
  ];
}
