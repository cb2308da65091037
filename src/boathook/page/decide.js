"use strict";
// Decisions of a person: a button begins one, and nothing happens without the code that the server wants then. Needs `page.js`.
const [dialog, codeForm, codeField] = ["decide", "decide-form", "decide-code"].map(find);
let decision = null, repeatId = "", round = 0;

async function sendDecision(path, fields) {
  const headers = { "Content-Type": "application/json" }, sentRound = round;
  const answer = await ask(path, { method: "POST", headers, body: JSON.stringify(fields) }).catch(() => null);
  // The person has gone on: this is not about what the dialog shows now.
  if (sentRound !== round) return new Promise(() => {});
  if (answer?.ok) return answer.json();
  if (answer) return { message: "Nothing was decided: the page refused this. Reload it, then try again." };
  return { message: "The page has ended, so nothing was decided. Answer in a terminal: boathook asks" };
}

function showResult(text, next = null, repeat = "") {
  [decision, repeatId] = [next, repeat];
  find("decide-result").textContent = text || "";
  codeForm.hidden = find("decide-text").hidden = !decision;
  find("decide-repeat").hidden = !repeatId;
  if (!decision) find("decide-close").focus();
}

async function beginDecision(button) {
  const { decision: word, about, digest, project = "" } = button.dataset;
  round += 1;
  const step = await sendDecision("/decide/begin", { decision: word, about, digest, project });
  showResult(step.message, step.is_open ? { id: step.id, asked: button.closest("[data-ask]")?.dataset.ask } : null);
  find("decide-title").textContent = step.wish ? `${step.wish}?` : "Nothing was decided";
  find("decide-send").textContent = step.wish?.match(/^(Never run|\w+)/)[0] || "";
  find("decide-about").textContent = step.about || "";
  find("decide-text").textContent = step.text || "";
  codeField.value = "";
  codeField.hidden = find("decide-label").hidden = step.way === "program";
  dialog.showModal();
  if (decision && !codeField.hidden) codeField.focus();
}

async function finishDecision() {
  if (!decision) return;
  showResult("", decision);
  const result = await sendDecision("/decide/finish", { id: decision.id, code: codeField.value });
  codeField.value = "";
  // A hook that is decided about waits for no review.
  if (result.is_done && location.hash.startsWith("#/review")) history.replaceState(null, "", "#/now");
  showResult(result.message, result.is_done ? null : decision, result.repeat);
}

// Questions and other parts of Now come and go. A card or row that stays keeps what is open and focused in it.
function showPart({ part, key, html }) {
  const place = find(part), focused = document.activeElement;
  if (!place || place.dataset.key === key) return;
  const listRows = () => [...place.querySelectorAll("li, tr")].map((row) => [row.dataset.copy + row.firstChild.textContent, row]);
  const listActions = (row) => [...row.querySelectorAll("summary, a, button")];
  const before = new Map(listRows());
  insertFragment(place, html);
  place.dataset.key = key;
  for (const [name, row] of listRows()) {
    const known = before.get(name);
    if (known?.querySelector("details[open]")) row.querySelector("details")?.setAttribute("open", "");
    if (known) listActions(row)[listActions(known).indexOf(focused)]?.focus({ preventScroll: true });
  }
  const ids = [...document.querySelectorAll("#questions [data-ask]")].map((one) => one.dataset.ask);
  if (decision?.asked && !ids.includes(decision.asked)) showResult("The call does not wait for an answer any more.");
  showTimeLeft();
}

function showTimeLeft() {
  for (const place of document.querySelectorAll("[data-until]")) {
    const seconds = Math.max(0, Math.round((place.dataset.until - Date.now() + skew) / 1000));
    place.textContent = seconds < 100 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
}

Object.assign(BUTTONS, {
  decision: beginDecision,
  end: async (button) => {
    const { message } = await sendDecision("/decide/end", { id: button.dataset.end });
    await showScreen();
    showStatus(message);
  },
  "decide-repeat": async () => showResult((await sendDecision("/decide/repeat", { id: repeatId })).message),
  "decide-close": () => dialog.close(),
});
dialog.addEventListener("close", () => {
  round += 1;
  decision = null;
  showScreen();
});
setInterval(showTimeLeft, 1000);
getToken().then((token) => (token ? showScreen() : refuse()));
