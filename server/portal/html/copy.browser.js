// Gives each text that is to be pasted elsewhere a button that copies it.
for (const text of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'second copy';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy ${text.dataset.copy}`);
  const status = document.createElement('span');
  status.setAttribute('role', 'status');
  status.className = 'soft';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      status.textContent = ' Copied';
    } catch {
      // Without leave to write the clipboard, selecting is the next best.
      getSelection().selectAllChildren(text);
      status.textContent = ' Selected';
    }
    setTimeout(() => {
      status.textContent = '';
    }, 3000);
  });
  text.after(button, status);
}
