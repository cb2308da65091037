"use strict";
// Shows screens as the server has escaped them, and follows new records. The token is in the memory of this tab only
// (sessionStorage), never in a cookie, because a browser sends cookies to every port of a host.

const rules = { createHTML: (text) => text };
const policy = window.trustedTypes?.createPolicy("boathook", rules) ?? rules;
const find = (id) => document.getElementById(id);
const makeElement = (name, fields) => Object.assign(document.createElement(name), fields);
const showStatus = (textContent, className = "") => Object.assign(find("status"), { textContent, className });
const main = find("screen");
const TOKEN = "boathook-token";
// The server sends something every ten seconds.
const SILENT_SECONDS = 30, MAX_RETRY_SECONDS = 30;
let stream = null, isPaused = false, held = [], visit = 0, skew = 0, wanted = "";

// The only way in for HTML: fragments of the server, which has escaped every text in them.
function insertFragment(element, html, where) {
  const safe = policy.createHTML(html);
  if (where) element.insertAdjacentHTML(where, safe);
  else element.innerHTML = safe;
}

function showMessage(title, text) {
  main.replaceChildren(makeElement("h1", { textContent: title }), makeElement("p", { textContent: text }));
  finishScreen();
}

function finishScreen() {
  main.removeAttribute("aria-busy");
  main.dataset.address = location.hash;
}

async function getToken() {
  const match = /^#t=([\w-]+)$/.exec(location.hash);
  if (match) {
    history.replaceState(null, "", "#/now");
    const answer = await fetch("/session", { method: "POST", body: match[1] });
    if (answer.ok) sessionStorage.setItem(TOKEN, (await answer.json()).token);
  }
  // Another page may have led this tab here, and a replay runs hooks: the person starts it.
  if (/^#\/replay\W/.test(location.hash)) history.replaceState(null, "", "#/replay");
  return sessionStorage.getItem(TOKEN);
}

async function ask(path, options = {}) {
  const headers = { ...options.headers, Authorization: `Bearer ${sessionStorage.getItem(TOKEN)}` };
  const answer = await fetch(path, { ...options, headers });
  if (answer.status === 401) refuse();
  return answer;
}

function refuse() {
  stream?.abort();
  showStatus("");
  sessionStorage.removeItem(TOKEN);
  const text = "The address works once, within a minute. Press Enter in the terminal that runs boathook page for another window.";
  showMessage("This window may not read the page", text);
}

async function showScreen() {
  if (location.hash && !location.hash.startsWith("#/")) return;
  const [, name, query] = /^#\/(\w+)\??(.*)$/.exec(location.hash) || [null, "now", ""];
  const number = ++visit, field = main.contains(document.activeElement) ? document.activeElement.name : "";
  [held, isPaused] = [[], false];
  stream?.abort();
  showStatus("");
  delete main.dataset.address;
  main.setAttribute("aria-busy", "true");
  const answer = await ask(`/data/screen/${name}?${query}`).catch(() => null);
  const screen = answer?.ok ? await answer.json().catch(() => null) : null;
  if (number !== visit || answer?.status === 401) return;
  if (!answer) return showMessage("The page has ended", "Start it again in a terminal: boathook page. Answer: boathook asks");
  if (answer.status === 404) return showMessage("There is no such screen", "Choose one above.");
  if (!screen) return showMessage("This screen cannot be shown", "The terminal that runs boathook page has the error.");
  insertFragment(main, screen.html);
  finishScreen();
  (main.querySelector(`[name="${wanted || field || "none"}"]`) || main).focus({ preventScroll: true });
  for (const link of document.querySelectorAll("#screens a"))
    link.setAttribute("aria-current", link.hash === `#/${screen.place}` ? "page" : "false");
  [wanted, skew] = ["", Date.now() - screen.now];
  showTimeLeft();
  showWaiting(screen.waiting, screen.title);
  followRecords(name, query, screen.position);
}

function showWaiting(count, title) {
  const name = title || document.title.replace(/^\(\d+\) | · boathook$/g, "");
  document.title = `${count ? `(${count}) ` : ""}${name} · boathook`;
  find("icon").setAttribute("href", count ? `/icon.svg?${Math.min(Number(count), 99)}` : "/icon.svg");
}

// Follows records until another screen is shown. What ends or is silent is shown as ended, and asked again, ever more seldom.
async function followRecords(name, query, position) {
  const control = stream = new AbortController();
  for (let seconds = 1; ; seconds = Math.min(2 * seconds, MAX_RETRY_SECONDS)) {
    const part = new AbortController(), end = () => part.abort();
    control.signal.addEventListener("abort", end);
    let timer = setTimeout(end, SILENT_SECONDS * 1000);
    try {
      const answer = await ask(`/data/stream?${query}&after=${position}`, { signal: part.signal });
      const reader = answer.ok && answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; reader;) {
        const { value, done } = await reader.read();
        if (done) break;
        clearTimeout(timer);
        timer = setTimeout(end, SILENT_SECONDS * 1000);
        if (find("status").className) showStatus("");
        seconds = 1;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) position = takeUpdate(name, JSON.parse(line)) ?? position;
      }
    } catch {
      // It is asked again.
    }
    clearTimeout(timer);
    if (control.signal.aborted) return;
    showStatus("The page has ended. Start it again: boathook page. Answer: boathook asks", "ended");
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    if (control.signal.aborted) return;
  }
}

// Returns after which record the next ones come, if the update has records.
function takeUpdate(name, update) {
  if (update.waiting !== undefined) showWaiting(update.waiting);
  if (update.heading && name === "now") main.querySelector("h1").textContent = update.heading;
  if (update.part) showPart(update);
  if (update.rows && name === "live") isPaused ? held.push(update.rows) : addRows(update.rows);
  return update.position;
}

function addRows(html) {
  const rows = find("rows");
  if (!rows) return;
  insertFragment(rows, html, "afterbegin");
  // A record that came while the screen was made is in both.
  const places = new Set();
  for (const row of [...rows.children]) {
    if (places.has(row.dataset.place)) row.remove();
    places.add(row.dataset.place);
  }
  while (rows.children.length > 1000) rows.lastElementChild.remove();
}

function switchPause() {
  const button = find("pause");
  if (!button) return;
  isPaused = !isPaused;
  button.ariaPressed = String(isPaused);
  button.textContent = isPaused ? "Resume" : "Pause";
  if (!isPaused) held.splice(0).forEach(addRows);
}

async function copyText(text) {
  const copied = await navigator.clipboard.writeText(text).then(() => "copied", () => "copy it yourself");
  showStatus(`${copied}: ${text}`);
}

async function saveFile(path) {
  const answer = await ask(path);
  if (!answer.ok) return;
  const download = `boathook-${path.split("?")[0].split("/").pop()}`;
  const link = makeElement("a", { href: URL.createObjectURL(await answer.blob()), download });
  link.click();
  // The browser reads it later.
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function applyForm(form) {
  const words = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  const address = `#/${form.dataset.screen}?${words}`;
  if (address === location.hash) showScreen();
  else location.hash = address;
}

function moveSelection(step) {
  const rows = [...document.querySelectorAll("main .rows li, main .needs li, main tbody tr")];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
  const action = next?.querySelector("a, button") || next;
  if (action === next) next?.setAttribute("tabindex", "-1");
  action?.focus();
}

const KEYS = {
  "/": () => { if (find("search")) find("search").focus(); else [wanted, location.hash] = ["q", "#/live"]; },
  j: () => moveSelection(1),
  k: () => moveSelection(-1),
  p: switchPause,
  g: () => { location.hash = "#/now"; },
  c: () => BUTTONS.copy(document.activeElement.closest("main [data-copy]")),
  "?": () => find("help").showModal(),
};
// What a button does, by its id or by the name of its data attribute.
const BUTTONS = {
  copy: (button) => button && copyText(button.dataset.copy),
  download: (button) => saveFile(button.dataset.download),
  pause: switchPause,
  skip: () => main.focus(),
  "help-button": KEYS["?"],
  "help-close": () => find("help").close(),
};

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, select, textarea, dialog");
  if (event.key === "Escape" && isTyping) event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const name = button && [button.id, ...Object.keys(button.dataset)].find((one) => Object.hasOwn(BUTTONS, one));
  if (name) BUTTONS[name](button);
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target === codeForm) finishDecision();
  else applyForm(event.target);
});
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-screen]:not([data-waits])");
  if (form) applyForm(form);
});
window.addEventListener("hashchange", showScreen);
