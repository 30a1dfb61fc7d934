// Marks in the contents where the reader is.

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
  // Whoever goes through the contents by keyboard keeps seeing where they are.
  if (wide.matches && !contents.contains(document.activeElement)) link?.scrollIntoView({ block: 'nearest' });
  current = link;
};
addEventListener('scroll', mark, { passive: true });
mark();
