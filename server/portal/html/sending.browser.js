// The pressed button of a form says that it is being sent. Whether something is done twice is decided by the server alone.
const pressed = new Map();

addEventListener('submit', ({ submitter, defaultPrevented }) => {
  if (submitter === null || defaultPrevented) return;
  if (!pressed.has(submitter)) pressed.set(submitter, [...submitter.childNodes]);
  submitter.replaceChildren('Sending…');
});

// Who comes back to this page finds it as it was.
addEventListener('pagehide', () => {
  for (const [button, said] of pressed) button.replaceChildren(...said);
  pressed.clear();
});
