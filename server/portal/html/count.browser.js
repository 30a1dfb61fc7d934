// Shows below each text with bounds how many characters are missing or too many, counted as on the server: in code points,
// without white space at the ends. Without scripts, the server says so after the form was sent.
for (const field of document.querySelectorAll('[data-most]')) {
  const line = document.createElement('p');
  line.className = 'hint count';
  field.after(line);
  const { least, most } = field.dataset;
  const thousands = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');
  const sentence = (count, what) =>
    `${thousands(count)} ${what.replace('characters', count === 1 ? 'character' : 'characters')}`;
  const count = () => {
    const length = [...field.value.replaceAll('\r\n', '\n').trim()].length;
    if (length > most) line.textContent = sentence(length - most, 'characters too many');
    else if (length > 0 && length < least) line.textContent = sentence(least - length, 'more characters needed');
    else line.textContent = length > most * 0.9 ? sentence(most - length, 'characters left') : '';
  };
  field.addEventListener('input', count);
  count();
}
