// Asks every two seconds how an approval goes, until its outcome is known, and shows that in the place of what stood there.
const status = document.getElementById('attempt');
const rest = document.getElementById('rest');

async function look() {
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (answer.redirected) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const found = page.getElementById('attempt');
    if (found !== null && found.dataset.result !== 'open') return show(page, found);
  } catch {
    // The server is being restarted, perhaps.
  }
  setTimeout(look, 2000);
}

function show(page, found) {
  const hadFocus = status.contains(document.activeElement) || rest.contains(document.activeElement);
  status.dataset.result = found.dataset.result;
  status.replaceChildren(...found.childNodes);
  rest.replaceChildren(...page.getElementById('rest').childNodes);
  if (hadFocus) document.getElementById('main').focus();
}

setTimeout(look, 2000);
