// Marks the current section in the table of contents, names it beside the collapsed contents of narrow windows, and opens the
// targets of links in browsers that don't.

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

// The id in a link's fragment; empty if it is malformed, as links from other sites may be.
const idOf = ({ hash }) => {
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return '';
  }
};

const links = new Map([...contents.querySelectorAll('a')].map((link) => [idOf(link), link]));
// Collapsed content has no position, so its article's position counts.
const places = new Map(
  [...links].map(([id, link]) => {
    const target = document.getElementById(id);
    return [target.closest('article') ?? target, link];
  }),
);
// Scrolls the contents only; scrollIntoView would scroll the page too.
const show = (link) => {
  const [inside, outside] = [link.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (inside.top < outside.top) nav.scrollTop -= outside.top - inside.top;
  if (inside.bottom > outside.bottom) nav.scrollTop += inside.bottom - outside.bottom;
};

const here = document.createElement('span');
here.className = 'here';
contents.querySelector('summary').append(here);
let current = null;
const mark = () => {
  // In a narrow window, open contents cover the page, and have moved it.
  if (current !== null && contents.open && !wide.matches) return;
  const passed = [...places.keys()].filter((place) => place.getBoundingClientRect().top < 120);
  const link = places.get(passed.at(-1)) ?? null;
  if (link === current) return;
  current?.removeAttribute('aria-current');
  link?.setAttribute('aria-current', 'true');
  here.textContent = link === null ? '' : `: ${link.textContent}`;
  // Scrolling could move the link that a keyboard user has focused out of view.
  if (link !== null && wide.matches && !contents.contains(document.activeElement)) show(link);
  current = link;
};
contents.addEventListener('toggle', () => {
  if (contents.open && current !== null && !wide.matches) show(current);
});
addEventListener('scroll', mark, { passive: true });
mark();

const reveal = () => {
  const fold = document.getElementById(idOf(location))?.closest('details');
  if (fold) fold.open = true;
};
addEventListener('hashchange', reveal);
reveal();
