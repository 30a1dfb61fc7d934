// Shows on the pressed button that its form is being sent. Preventing double submission is up to the server.
const pressed = new Map();

addEventListener('submit', ({ submitter, defaultPrevented }) => {
  if (submitter === null || defaultPrevented) return;
  if (!pressed.has(submitter)) pressed.set(submitter, [...submitter.childNodes]);
  submitter.replaceChildren('Sending…');
});

// Restores the buttons, for visitors who come back to this page.
addEventListener('pagehide', () => {
  for (const [button, said] of pressed) button.replaceChildren(...said);
  pressed.clear();
});
