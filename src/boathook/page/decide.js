"use strict";
// Decisions of a person: a button begins one, the server then wants a code, and only with that anything happens. `page.js` is
// loaded before, and has the functions that both use.

const dialog = document.getElementById("decide");
const codeForm = document.getElementById("decide-form");
const codeField = document.getElementById("decide-code");
const resultText = document.getElementById("decide-result");
const repeatButton = document.getElementById("decide-repeat");
let decision = null;
let repeatId = "";

async function sendDecision(path, fields) {
  const headers = {
    Authorization: `Bearer ${sessionStorage.getItem(TOKEN)}`,
    "Content-Type": "application/json",
  };
  try {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(fields) });
    if (answer.ok) return await answer.json();
    return { message: "Nothing was decided: the page refused this. Reload it, then try again." };
  } catch {
    return { message: "Nothing was decided, as far as this window knows: the page has ended." };
  }
}

async function beginDecision(button) {
  const { decision: word, about, digest, project = "" } = button.dataset;
  const begun = await sendDecision("/decide/begin", { decision: word, about, digest, project });
  decision = begun.is_begun ? { id: begun.id, ask: about } : null;
  document.getElementById("decide-title").textContent = begun.wish ? `${begun.wish}?` : "Nothing was decided";
  document.getElementById("decide-about").textContent = begun.about || "";
  document.getElementById("decide-text").textContent = begun.text || "";
  resultText.textContent = begun.message || "";
  codeForm.hidden = !decision;
  codeField.hidden = begun.way === "program";
  document.getElementById("decide-label").hidden = codeField.hidden;
  codeField.value = "";
  repeatButton.hidden = true;
  dialog.showModal();
  if (decision && !codeField.hidden) codeField.focus();
}

async function finishDecision() {
  if (!decision) return;
  resultText.textContent = "";
  const result = await sendDecision("/decide/finish", { id: decision.id, code: codeField.value });
  codeField.value = "";
  resultText.textContent = result.message;
  if (!result.is_done) return;
  decision = null;
  codeForm.hidden = true;
  repeatId = result.repeat;
  repeatButton.hidden = !repeatId;
}

async function repeatDecision() {
  repeatButton.hidden = true;
  resultText.textContent = (await sendDecision("/decide/repeat", { id: repeatId })).message;
}

async function endRepeat(id) {
  showStatus((await sendDecision("/decide/end", { id })).message);
  showScreen();
}

// Questions come and go while the page shows them.
function showQuestions(html) {
  const place = document.getElementById("questions");
  if (place) insertFragment(place, html);
  if (place && decision && /^[0-9a-f]{32}$/.test(decision.ask) && !place.querySelector(`[data-ask="${decision.ask}"]`)) {
    decision = null;
    codeForm.hidden = true;
    resultText.textContent = "The call does not wait for an answer any more.";
  }
  showTimeLeft();
}

function showTimeLeft() {
  for (const place of document.querySelectorAll("[data-until]")) {
    const seconds = Math.max(0, Math.round((Number(place.dataset.until) - Date.now()) / 1000));
    place.textContent = `${seconds} s`;
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.decision) beginDecision(button);
  else if (button.dataset.end) endRepeat(button.dataset.end);
  else if (button.id === "decide-repeat") repeatDecision();
  else if (button.id === "decide-close") dialog.close();
});
// What was decided is not on the screen any more.
dialog.addEventListener("close", () => {
  decision = null;
  showScreen();
});
setInterval(showTimeLeft, 1000);
