// Asks every two seconds how approvals go that are under way, until the outcome of each is known, and shows that in the place
// of what stood there. On the page of the key itself the rest of the page changes with it; where another key's approval is
// told of, nothing else does, since somebody may be typing.
const rest = document.getElementById('rest');

async function look() {
  const open = [...document.querySelectorAll('[data-result="open"]')];
  if (open.length === 0) return;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (answer.redirected) return open.some(isOwn) && location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const status of open) {
      const found = page.getElementById(status.id);
      if (found !== null && found.dataset.result !== 'open') show(status, found, page);
    }
  } catch {
    // The server is being restarted, perhaps.
  }
  setTimeout(look, 2000);
}

function isOwn(status) {
  return status.id === 'attempt';
}

function show(status, found, page) {
  const changed = isOwn(status) ? [status, rest] : [status];
  const hadFocus = changed.some((part) => part.contains(document.activeElement));
  status.dataset.result = found.dataset.result;
  status.replaceChildren(...found.childNodes);
  if (isOwn(status)) rest.replaceChildren(...page.getElementById('rest').childNodes);
  if (hadFocus) document.getElementById('main').focus();
}

setTimeout(look, 2000);
