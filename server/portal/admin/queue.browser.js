// Keyboard shortcuts of the queue: j and k move to the next and the previous row, x selects it, a and r press its buttons. They
// work only while the focus is in a row, and not with a modifier key (WCAG 2.2, 2.1.4).
const rows = [...document.querySelectorAll('[data-row]')];
const press = (row, selector) => row.querySelector(selector)?.click();
const keys = {
  j: (row) => rows[rows.indexOf(row) + 1]?.focus(),
  k: (row) => rows[rows.indexOf(row) - 1]?.focus(),
  x: (row) => press(row, 'input[name="chosen"]'),
  a: (row) => press(row, '[name="approve"], a.button'),
  r: (row) => press(row, '[name="reject"]'),
};
for (const row of rows) {
  row.tabIndex = 0;
  row.setAttribute('aria-keyshortcuts', 'j k x a r');
  row.addEventListener('keydown', (event) => {
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
    if (ctrlKey || altKey || metaKey || shiftKey || !Object.hasOwn(keys, key)) return;
    event.preventDefault();
    keys[key](row);
  });
}
