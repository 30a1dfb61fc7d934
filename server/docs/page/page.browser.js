// Marks in the contents where the reader is, and opens what a link leads to in browsers that don't.

const nav = document.querySelector('.contents');
const contents = nav.querySelector('details');
const wide = matchMedia('(min-width: 60rem)');
const fold = () => {
  contents.open = wide.matches;
};
fold();
wide.addEventListener('change', fold);
contents.addEventListener('click', (event) => {
  if (event.target.closest('a') && !wide.matches) contents.open = false;
});

// Anybody can link here with a hash that is malformed; that names nothing.
const idOf = ({ hash }) => {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return '';
  }
};

const links = new Map([...contents.querySelectorAll('a')].map((link) => [idOf(link), link]));
// What is folded has no place of its own.
const places = new Map(
  [...links].map(([id, link]) => {
    const target = document.getElementById(id);
    return [target.closest('article') ?? target, link];
  }),
);
// scrollIntoView would scroll the page too.
const show = (link) => {
  const [inside, outside] = [link.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (inside.top < outside.top) nav.scrollTop -= outside.top - inside.top;
  if (inside.bottom > outside.bottom) nav.scrollTop += inside.bottom - outside.bottom;
};

let current = null;
const mark = () => {
  const passed = [...places.keys()].filter((place) => place.getBoundingClientRect().top < 120);
  const link = places.get(passed.at(-1)) ?? null;
  if (link === current) return;
  current?.removeAttribute('aria-current');
  link?.setAttribute('aria-current', 'true');
  // Whoever goes through the contents by keyboard keeps seeing where they are.
  if (link !== null && wide.matches && !contents.contains(document.activeElement)) show(link);
  current = link;
};
addEventListener('scroll', mark, { passive: true });
mark();

const reveal = () => {
  const fold = document.getElementById(idOf(location))?.closest('details');
  if (fold) fold.open = true;
};
addEventListener('hashchange', reveal);
reveal();
