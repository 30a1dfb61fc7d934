// For every page: buttons that copy code blocks and elements with data-copy (a description of what is copied), and menus in the
// bar that close when the focus leaves them.

for (const source of document.querySelectorAll('[data-copy], figure.code code')) {
  const button = document.createElement('button');
  const what = document.createElement('span');
  what.className = 'unseen';
  what.textContent = source.dataset.copy ? ` ${source.dataset.copy}` : '';
  button.type = 'button';
  button.className = 'copy';
  button.setAttribute('aria-live', 'polite');
  button.append('Copy', what);
  const [word] = button.childNodes;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      word.data = 'Copied';
    } catch {
      // Without permission to write to the clipboard, at least select the text.
      getSelection().selectAllChildren(source);
      word.data = 'Selected';
    }
    setTimeout(() => {
      word.data = 'Copy';
    }, 1500);
  });
  const caption = source.closest('figure.code')?.querySelector('figcaption');
  if (caption) caption.append(button);
  else source.after(button);
}

const menus = document.querySelectorAll('.nav details');
const closeOthers = ({ type, target, key }) => {
  if (type === 'keydown' && key !== 'Escape') return;
  for (const menu of menus) {
    if (key === 'Escape' && menu.contains(target)) menu.querySelector('summary').focus();
    if (key === 'Escape' || !menu.contains(target)) menu.open = false;
  }
};
for (const event of ['click', 'keydown', 'focusin']) document.addEventListener(event, closeOthers);
