// Says below each text that has a most of characters how many it has, counted as the server counts: in code points, without
// white space at the ends. Without scripts the server says so once the form was sent.
for (const field of document.querySelectorAll('[data-most]')) {
  const line = document.createElement('p');
  line.className = 'hint count';
  field.after(line);
  const count = () => {
    const length = [...field.value.replaceAll('\r\n', '\n').trim()].length;
    line.textContent = `${length} of ${field.dataset.most} characters`;
  };
  field.addEventListener('input', count);
  count();
}
