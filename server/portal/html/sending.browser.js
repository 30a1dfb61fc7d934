// Shows on the pressed button that its form is being sent. The second click of a double click is ignored: its answer would say
// that nothing was done. Preventing any other double submission is up to the server.
const pressed = new Map();
let lastSent = -Infinity;

addEventListener('submit', (event) => {
  const { submitter, defaultPrevented, timeStamp } = event;
  if (submitter === null || defaultPrevented) return;
  if (timeStamp - lastSent < 1000) return event.preventDefault();
  lastSent = timeStamp;
  if (!pressed.has(submitter)) pressed.set(submitter, [...submitter.childNodes]);
  submitter.replaceChildren('Sending…');
});

// Restores the buttons, for visitors who come back to this page.
addEventListener('pagehide', () => {
  for (const [button, said] of pressed) button.replaceChildren(...said);
  pressed.clear();
});
