// The pressed button of a form says that it is being sent. Whether something is done twice is decided by the server alone.
addEventListener('submit', ({ submitter, defaultPrevented }) => {
  if (submitter === null || defaultPrevented) return;
  const said = [...submitter.childNodes];
  submitter.replaceChildren('Sending…');
  // Who comes back to this page finds it as it was.
  addEventListener('pagehide', () => submitter.replaceChildren(...said));
});
