// Gives each block of code a button that copies it, and marks in the contents where the reader is.

for (const figure of document.querySelectorAll('figure.code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    const code = figure.querySelector('code');
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      // Without leave to write the clipboard, selecting is the next best.
      getSelection().selectAllChildren(code);
      button.textContent = 'Selected';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  figure.querySelector('figcaption').append(button);
}

const contents = document.querySelector('.contents details');
const wide = matchMedia('(min-width: 60rem)');
const fold = () => {
  contents.open = wide.matches;
};
fold();
wide.addEventListener('change', fold);
contents.addEventListener('click', (event) => {
  if (event.target.closest('a') && !wide.matches) contents.open = false;
});

const links = new Map(
  [...contents.querySelectorAll('a')].map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
);
const places = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
let current = null;
const mark = () => {
  const passed = places.filter((place) => place.getBoundingClientRect().top < 120);
  const link = links.get(passed.at(-1)?.id) ?? null;
  if (link === current) return;
  current?.removeAttribute('aria-current');
  link?.setAttribute('aria-current', 'true');
  if (wide.matches) link?.scrollIntoView({ block: 'nearest' });
  current = link;
};
addEventListener('scroll', mark, { passive: true });
mark();
