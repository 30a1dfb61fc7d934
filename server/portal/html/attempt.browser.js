// Polls the state of unfinished decisions every two seconds until the outcome of each is known, and updates the page. On the
// page of a key, its name, its state and the rest are updated too, since a decision is about what is shown; in the queue only the
// rows whose state has changed, so that what is chosen or open there stays.
const ofKey = ['heading', 'state', 'rest'].map((id) => document.getElementById(id));

// The response to a form can't be fetched again. The key's page can, to which “Refresh” leads.
const address = document.querySelector('#attempt a')?.href ?? location.href;

// The links of the head, one of which counts the waiting requests.
const IN_HEAD = '.nav > li > a';

async function look() {
  const open = [...document.querySelectorAll('[data-result="open"]')];
  if (open.length === 0) return;
  try {
    const answer = await fetch(address, { headers: { accept: 'text/html' } });
    if (answer.redirected) return open.some(isOwn) && location.assign(address);
    // An error's page has no rows; those that are shown stay.
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const status of open) {
      const found = page.getElementById(status.id);
      if (found !== null && hasChanged(status, found)) show(status, found, page);
    }
    for (const row of document.querySelectorAll('.row[id]')) showRow(row, page.getElementById(row.id));
    document.title = page.title;
    const waiting = page.getElementById('waiting');
    if (waiting !== null) document.getElementById('waiting')?.replaceChildren(...waiting.childNodes);
    const links = page.querySelectorAll(IN_HEAD);
    for (const [at, link] of document.querySelectorAll(IN_HEAD).entries())
      link.replaceChildren(...links[at].childNodes);
  } catch {
    // The server may be restarting, perhaps behind a proxy: try again.
  }
  setTimeout(look, 2000);
}

function showRow(row, found) {
  if (found?.dataset.attempt === row.dataset.attempt) return;
  const hadFocus = row.contains(document.activeElement);
  if (found === null) row.remove();
  else row.replaceWith(found);
  if (hadFocus) document.getElementById('main').focus();
}

function isOwn(status) {
  return status.id === 'attempt';
}

function hasChanged({ dataset: before }, { dataset: after }) {
  return Object.keys(after).some((name) => after[name] !== before[name]);
}

function show(status, found, page) {
  // What was refused is no longer true.
  if (isOwn(status) && new URL(address).pathname !== location.pathname) return location.assign(address);
  const changed = isOwn(status) ? [status, ...ofKey] : [status];
  const hadFocus = changed.some((part) => part.contains(document.activeElement));
  Object.assign(status.dataset, found.dataset);
  for (const part of changed) part.replaceChildren(...page.getElementById(part.id).childNodes);
  if (hadFocus) document.getElementById('main').focus();
}

setTimeout(look, 2000);
