// Shows below each field with bounds how many characters are missing or too many, counted as on the server: in code points,
// without white space at the ends. Without scripts, the server says so once the form is sent.
for (const field of document.querySelectorAll('[data-max]')) {
  const line = document.createElement('p');
  line.className = 'soft count';
  field.after(line);
  const { min, max } = field.dataset;
  const thousands = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');
  const sentence = (count, what) =>
    `${thousands(count)} ${what.replace('characters', count === 1 ? 'character' : 'characters')}`;
  const count = () => {
    const length = [...field.value.replaceAll('\r\n', '\n').trim()].length;
    if (length > max) line.textContent = sentence(length - max, 'characters too many');
    else if (length > 0 && length < min) line.textContent = sentence(min - length, 'more characters needed');
    else line.textContent = length > max * 0.9 ? sentence(max - length, 'characters left') : '';
  };
  field.addEventListener('input', count);
  count();
}
