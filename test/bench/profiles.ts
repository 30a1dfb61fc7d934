// Profiles for the benchmark: each is made from its id alone, so that any response can be checked without storing it.

/** Names are a bijection of 32 bits, so that neighbours in the table are not neighbours in the index. */
const NAME_FACTOR = 268_435_399;
const NAME_RANGE = 2 ** 32;

/** The parameters with which wrk's script makes names: prefix, factor, range. */
export const NAMES = { prefix: 'user', factor: NAME_FACTOR, range: NAME_RANGE } as const;

/** The username of a profile. */
export function usernameOf(id: number): string {
  return `${NAMES.prefix}${(id * NAME_FACTOR) % NAME_RANGE}`;
}

/** A whole number from 0 to `below` − 1 that depends only on the profile and the field. */
function draw(id: number, field: number, below: number): number {
  let hash = Math.imul(id, 0x85ebca6b) ^ Math.imul(field + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) % below;
}

function pick<T>(id: number, field: number, from: readonly T[]): T {
  return from[draw(id, field, from.length)] as T;
}

const NAMES_OF_PEOPLE = [
  'Mila Novak',
  'Łukasz z Łodzi',
  'Ada',
  'Jonas',
  'José Álvarez',
  'Emma ✨',
  'Noor',
  '春香',
  'Sam',
];
const BADGES = ['early', 'verified', 'staff', 'booster', 'translator', 'artist'];
const THEMES = ['dark', 'light', 'sepia', 'contrast'];
const FONTS = ['Inter', 'Roboto', 'Comic Neue', 'IBM Plex Mono'];
const STATUSES = ['online', 'idle', 'dnd', 'offline'];
const SITES = ['github', 'mastodon', 'blog', 'shop', 'youtube', 'bandcamp'];

/** Whether a profile is banned: one in a hundred. */
export function isBanned(id: number): boolean {
  return draw(id, 1, 100) === 0;
}

/** Views: few profiles have many, many have few, some are equal. `version` counts changes. */
function viewsOf(id: number, version: number): number {
  return Math.floor(40_000_000 / (draw(id, 2, 1_000_000) + 1)) + version;
}

/** The fields of a profile's responses, except its links, in order. */
function publicFields(id: number, version: number) {
  const name = usernameOf(id);
  const badges = BADGES.slice(draw(id, 3, BADGES.length)).map((badge, at) => ({
    name: badge,
    enabled: draw(id, 4 + at, 4) > 0,
  }));
  const hex = draw(id, 11, 0x1000000).toString(16).padStart(6, '0');
  return {
    id,
    username: name,
    displayName: `${pick(id, 12, NAMES_OF_PEOPLE)} ${draw(id, 13, 1000)}`,
    badges: badges.slice(0, 3),
    assets: {
      avatar: `https://cdn.example.org/${id}/avatar-${hex}.png`,
      banner: draw(id, 14, 3) === 0 ? null : `https://cdn.example.org/${id}/banner.jpg`,
      cursor: null,
    },
    customize: {
      theme: pick(id, 15, THEMES),
      accent: `#${hex}`,
      font: pick(id, 16, FONTS),
      effects: { snow: draw(id, 17, 2) === 0, glow: draw(id, 18, 100) / 100 },
      order: ['links', 'badges'],
    },
    discordID: draw(id, 19, 5) === 0 ? null : String(100_000_000_000_000_000n + BigInt(id) * 1_000_003n),
    discordClean: { username: `${name}_dc`, status: pick(id, 20, STATUSES), activities: [{ name: 'Chess', type: 0 }] },
    banned: isBanned(id),
    viewsCount: viewsOf(id, version),
    followersCount: draw(id, 21, 5000) as number | null,
    createdAt: new Date(1_600_000_000_000 + draw(id, 22, 150_000_000) * 1000).toISOString(),
  };
}

function linksOf(id: number) {
  return Array.from({ length: draw(id, 30, 7) }, (_, at) => {
    const site = pick(id, 40 + at, SITES);
    const optional = draw(id, 50 + at, 2) === 0 ? { title: `My ${site}`, clicksCount: draw(id, 60 + at, 900) } : {};
    return { id: `l${at + 1}`, name: site, link: `https://${site}.example.com/${usernameOf(id)}`, ...optional };
  });
}

function showsFollowers(id: number): boolean {
  return draw(id, 23, 10) > 0;
}

/** The line that imports a profile, without its line end; the export returns exactly the same. */
export function lineOf(id: number, version = 0): string {
  const { id: uid, username, createdAt, ...fields } = publicFields(id, version);
  return JSON.stringify({
    id: uid,
    username,
    aliases: draw(id, 24, 10) === 0 ? [`also-${username}`] : [],
    authId: authIdOf(id),
    email: `owner${id}@example.org`,
    ...fields,
    showFollowersCount: showsFollowers(id),
    showOnLeaderboard: true,
    createdAt,
    links: linksOf(id),
  });
}

function authIdOf(id: number): string {
  return `auth0|${draw(id, 25, 2 ** 32).toString(16)}${id.toString(16)}`;
}

/** The body of a lookup of this profile: SimplifiedProfile as JSON text. */
export function profileBody(id: number): string {
  const fields = publicFields(id, 0);
  return JSON.stringify({ ...fields, followersCount: showsFollowers(id) ? fields.followersCount : null });
}

/** The body of a lookup of this profile's links. */
export function linksBody(id: number): string {
  return JSON.stringify({ links: linksOf(id) });
}
