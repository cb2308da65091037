"use strict";
// The page: asks for screens, inserts what the server has escaped, and follows new records. The token is in the memory of this
// tab only (sessionStorage), never in a cookie, because a browser sends cookies to every port of a host.

const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("boathook", { createHTML: (text) => text })
  : { createHTML: (text) => text };
const main = document.getElementById("screen");
const TOKEN = "boathook-token";
let stream = null;
let isPaused = false;
let held = [];
let visit = 0;

// The only way in for HTML: fragments of the server, which has escaped every text in them.
function insertFragment(element, html, where) {
  const safe = policy.createHTML(html);
  if (where) element.insertAdjacentHTML(where, safe);
  else element.innerHTML = safe;
}

function showMessage(title, text) {
  const heading = document.createElement("h1");
  const paragraph = document.createElement("p");
  heading.textContent = title;
  paragraph.textContent = text;
  main.replaceChildren(heading, paragraph);
  finishScreen();
}

function finishScreen() {
  main.removeAttribute("aria-busy");
  main.dataset.address = location.hash;
}

function showStatus(text) {
  document.getElementById("status").textContent = text;
}

async function getToken() {
  const match = /^#t=([\w-]+)$/.exec(location.hash);
  if (match) {
    history.replaceState(null, "", "#/now");
    const answer = await fetch("/session", { method: "POST", body: match[1] });
    if (answer.ok) sessionStorage.setItem(TOKEN, (await answer.json()).token);
  }
  return sessionStorage.getItem(TOKEN);
}

async function ask(path, signal) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(TOKEN)}` };
  const answer = await fetch(path, { headers, signal });
  if (answer.status === 401) {
    sessionStorage.removeItem(TOKEN);
    refuse();
  }
  return answer;
}

function refuse() {
  showMessage(
    "This window may not read the page",
    "The address works once, within a minute. Press Enter in the terminal that runs `boathook page` for another window.",
  );
}

// Screens

function readAddress() {
  const [, name, query] = /^#\/(\w+)\??(.*)$/.exec(location.hash) || [null, "now", ""];
  return { name, query };
}

async function showScreen() {
  if (location.hash && !location.hash.startsWith("#/")) return;
  const { name, query } = readAddress();
  const number = ++visit;
  stopStream();
  delete main.dataset.address;
  main.setAttribute("aria-busy", "true");
  let answer;
  try {
    answer = await ask(`/data/screen/${name}?${query}`);
  } catch {
    if (number === visit) showMessage("The page has ended", "Start it again in a terminal: boathook page");
    return;
  }
  if (number !== visit || answer.status === 401) return;
  const screen = await answer.json();
  if (!answer.ok) {
    showMessage("There is no such screen", "Choose one above.");
    return;
  }
  insertFragment(main, screen.html);
  finishScreen();
  markScreen(name);
  showWaiting(screen.waiting, screen.title);
  followRecords(name, query, screen.position);
}

function markScreen(name) {
  for (const link of document.querySelectorAll("#screens a")) {
    const target = link.hash.slice(2);
    const isHere = target === name || target === `${name}s` || (target === "live" && name === "record");
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function showWaiting(count, title) {
  const name = title || document.title.replace(/^\(\d+\) /, "").replace(/ · boathook$/, "");
  document.title = `${count ? `(${count}) ` : ""}${name} · boathook`;
  const icon = document.getElementById("icon");
  const text = count > 99 ? "99" : String(Number(count));
  const mark = `<circle cx="22" cy="22" r="10" fill="#a81e1e"/><text x="22" y="27" font-size="13" font-family="sans-serif" text-anchor="middle" fill="#fff">${text}</text>`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5d7a"/>${mark}</svg>`;
  icon.setAttribute("href", count ? `data:image/svg+xml,${encodeURIComponent(picture)}` : "/icon.svg");
}

// New records

function stopStream() {
  if (stream) stream.abort();
  stream = null;
  held = [];
}

async function followRecords(name, query, position) {
  const control = new AbortController();
  stream = control;
  isPaused = false;
  let after = position;
  try {
    const answer = await ask(`/data/stream?${query}&after=${after}`, control.signal);
    if (!answer.ok) return;
    showStatus("");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line) takeUpdate(name, JSON.parse(line));
    }
  } catch (error) {
    if (control.signal.aborted) return;
  }
  if (stream === control) showStatus("The page has ended. Start it again: boathook page");
}

function takeUpdate(name, update) {
  if (update.waiting !== undefined) showWaiting(update.waiting);
  if (update.heading && name === "now") main.querySelector("h1").textContent = update.heading;
  if (update.questions !== undefined) showQuestions(update.questions);
  if (!update.html || name !== "live") return;
  if (isPaused) held.push(update.html);
  else addRows(update.html);
}

function addRows(html) {
  const rows = document.getElementById("rows");
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
  const button = document.getElementById("pause");
  if (!button) return;
  isPaused = !isPaused;
  button.setAttribute("aria-pressed", String(isPaused));
  button.textContent = isPaused ? "Go on" : "Pause";
  if (!isPaused) held.splice(0).forEach(addRows);
}

// Actions

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    showStatus(`copied: ${text}`);
  } catch {
    showStatus(`copy it yourself: ${text}`);
  }
}

async function saveFile(path) {
  const answer = await ask(path);
  if (!answer.ok) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = `boathook-${path.split("?")[0].split("/").pop()}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function applyForm(form) {
  const words = new URLSearchParams();
  for (const [key, value] of new FormData(form)) if (value) words.append(key, value);
  const address = `#/${form.dataset.screen}?${words}`;
  if (address === location.hash) showScreen();
  else location.hash = address;
}

function moveSelection(step) {
  const rows = [...document.querySelectorAll("main .rows li, main .needs li, main tbody tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
  if (at >= 0) rows[at].removeAttribute("aria-selected");
  next.setAttribute("aria-selected", "true");
  (next.querySelector("a, button") || next).focus();
  next.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => document.getElementById("search")?.focus(),
  j: () => moveSelection(1),
  k: () => moveSelection(-1),
  p: switchPause,
  g: () => { location.hash = "#/now"; },
  c: () => {
    const row = document.querySelector('main [aria-selected="true"][data-copy]');
    if (row) copyText(row.dataset.copy);
  },
  "?": () => document.getElementById("help").showModal(),
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
  if (event.target.closest(".skip")) {
    event.preventDefault();
    main.focus();
  } else if (!button) return;
  else if (button.dataset.copy) copyText(button.dataset.copy);
  else if (button.dataset.download) saveFile(button.dataset.download);
  else if (button.id === "pause") switchPause();
  else if (button.id === "help-button") KEYS["?"]();
  else if (button.id === "help-close") document.getElementById("help").close();
});
document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target === codeForm) finishDecision();
  else applyForm(event.target);
});
document.addEventListener("change", (event) => {
  const form = event.target.closest("form");
  if (form && form.dataset.screen && !("waits" in form.dataset)) applyForm(form);
});
window.addEventListener("hashchange", showScreen);

getToken().then((token) => (token ? showScreen() : refuse()));
