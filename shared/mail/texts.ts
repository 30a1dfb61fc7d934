import type { KeyChanges, Permission } from '../db/schema.ts';
import type { Predecessor } from '../keys/grant.ts';
import { hasEnded } from '../keys/key.ts';
import type { RateLimit } from '../limits/rate-limit.ts';
import { shellWord } from '../text.ts';
import {
  code,
  compose,
  expiryInWords,
  type Fact,
  facts,
  foreign,
  heading,
  link,
  list,
  type Paged,
  type Part,
  pageLink,
  quoted,
  rateLimitInWords,
  type ServiceNews,
  type Text,
  timeInWords,
} from './compose.ts';

// The mails about keys to their owners. Times are milliseconds since 1970.

/** What all of them say. */
type News = { identifier: string; keyName: string } & ServiceNews & Paged;

/** The content of the mail about an approval. No other text about a key ever contains a secret. */
export type ApprovalNews = News & {
  secret: string;
  profile: string;
  requestedPermissions: readonly Permission[];
  permissions: readonly Permission[];
  rateLimits: readonly RateLimit[];
  /** Null for never. */
  expiresAtMs: number | null;
  predecessor: Predecessor | null;
};

/** The mail with the secret. */
export function approvalMail(news: ApprovalNews): Text {
  const { identifier, publicUrl, pages } = news;
  return compose('approval', news, `Your API key ${identifier} is approved`, [
    `Your key request for the ${news.publicName} API at ${publicUrl} was approved. This is the secret of key ${identifier}:`,
    code(news.secret),
    'The service keeps no copy and will not send it again, so store it now. A secret in an earlier e-mail about this key no longer works.',
    facts(
      ['Identifier', identifier],
      ['Name', foreign(news.keyName)],
      ['Profile', foreign(news.profile)],
      ['Granted', ...news.permissions.map((permission) => GRANTS[permission])],
      ['Requested', news.requestedPermissions.join(', ')],
      ['Rate limits', ...news.rateLimits.map(rateLimitInWords)],
      ['Expires', expiryInWords(news.expiresAtMs)],
    ),
    ...succession(identifier, news.predecessor),
    heading('Try it'),
    'Paste this line into a terminal, then paste the secret and press Enter. The secret is not shown and does not end up in the history of your shell. The response lists what the key may do; this request does not count against its limits. If it says that the key is not valid, look for a newer e-mail about this key: only the latest secret works.',
    code(curlLine(publicUrl)),
    link('How to use the API', `${publicUrl}/docs`),
    heading('Keep it secret'),
    list([
      'Keep it in a password manager or in the secret store of your server.',
      'Never put it into client-side code (a web page, a mobile or desktop app) or into a repository.',
      'Never put it into a URL, a chat, a ticket or a screenshot.',
      `Send it only as "Authorization: Bearer <secret>", and only to ${publicUrl}/api.`,
    ]),
    heading('If you lose it'),
    'A lost secret cannot be sent again. Request a replacement the way you requested this key. A profile can have three keys at a time; if you already have three, revoke the lost one first.',
    `If somebody else may have seen the secret, ${pages === null ? `ask the people who run ${publicUrl} to revoke key ${identifier}` : `revoke key ${identifier} on its page at once`}. The identifier is safe to share.`,
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}

const GRANTS: Record<Permission, string> = {
  'api.lookup': 'api.lookup (profiles and their links)',
  'api.leaderboard': 'api.leaderboard (the leaderboard)',
};

/** What happens to the key that this one replaces, and what its owner has to do; nothing if there is no such key. */
function succession(identifier: string, predecessor: Predecessor | null): Part[] {
  if (predecessor === null) return [];
  const { identifier: old, endsAtMs, state } = predecessor;
  const replaced = `This key replaces your key ${old}.`;
  const end = endsAtMs === null ? null : timeInWords(endsAtMs);
  if (hasEnded(state)) return [`${replaced} Key ${old} no longer works.`];
  if (state !== 'Active') {
    const until = end === null ? '' : `; it expires at ${end}`;
    return [`${replaced} Key ${old} is ${state}, so requests that use it are refused${until}.`];
  }
  const until = end === null ? '' : ` until ${end}, when ${old} expires`;
  return [
    `${replaced} Both keys work${until}. Give your program the secret of ${identifier} before you stop using ${old}.`,
  ];
}

/**
 * A command line for sh, bash and zsh that shows what a key may do. It reads the secret without echo, which it restores even
 * after Ctrl-C, and pipes it to curl, because every user of the machine can see arguments.
 */
function curlLine(publicUrl: string): string {
  const url = `'${`${publicUrl}/api/key`.replaceAll("'", "'\\''")}'`;
  const ask = `trap 'stty echo; exit' EXIT INT; stty -echo; printf 'Secret: '; read -r KEY; echo`;
  return `(${ask}; printf 'Authorization: Bearer %s\\n' "$KEY" | curl -sS -w '\\n' -H @- ${url})`;
}

/** The mail about a rejected request. */
export function rejectionMail(news: News & { reason: string | null }): Text {
  const { identifier, pages } = news;
  return compose('rejection', news, `Your API key request ${identifier} was rejected`, [
    `Your key request for the ${news.publicName} API at ${news.publicUrl} was rejected.`,
    facts(['Request', identifier], ['Name', foreign(news.keyName)]),
    ...quoted('The reason:', news.reason),
    'You can change the request and send it again. This one no longer counts towards the limit of three keys.',
    ...pageLink(pages, 'Request again', `/keys/new?like=${identifier}`),
  ]);
}

/** The mail about a revoked key. */
export function revocationMail(news: News & { reason: string | null }): Text {
  const { identifier, pages } = news;
  return compose('revocation', news, `Your API key ${identifier} was revoked`, [
    `${yourKey(news)} was revoked. Every request that uses it is now refused.`,
    facts(['Key', identifier], ['Name', foreign(news.keyName)]),
    ...quoted('The reason:', news.reason),
    'Remove its secret from wherever you keep it. If you still need access, request a key again; this one no longer counts towards the limit of three keys.',
    ...pageLink(pages, 'Request again', `/keys/new?like=${identifier}`),
  ]);
}

function yourKey({ publicName, publicUrl }: ServiceNews): string {
  return `Your key for the ${publicName} API at ${publicUrl}`;
}

type Suspension = News & { atMs: number; expiresAt: number | null };

/** The mail about a suspended key. */
export function suspensionMail(news: Suspension & { reason: string | null }): Text {
  const { identifier, pages, expiresAt } = news;
  const until = expiresAt === null ? '' : ' before it expires';
  return compose('suspension', news, `Your API key ${identifier} was suspended`, [
    `${yourKey(news)} was suspended by an admin. Every request that uses it is refused while it is suspended.`,
    facts(...when(news), ['Expires', expiryInWords(expiresAt)]),
    ...quoted('The reason:', news.reason),
    `Keep its secret: if an admin resumes the key${until}, the same secret works again, and you will get an e-mail. Until then it still counts as one of the three keys that a profile can have.`,
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}

/** The mail about a resumed key, which is still refused if its profile is banned. */
export function resumptionMail(news: Suspension & { isBanned: boolean }): Text {
  const { identifier, pages, expiresAt } = news;
  const works = news.isBanned
    ? 'It is still refused while your profile is banned, and works again with the same secret once the ban is lifted.'
    : 'It works again with the same secret and the same rate limits. There is nothing to do.';
  return compose('resumption', news, `Your API key ${identifier} was resumed`, [
    `An admin ended the suspension of your key for the ${news.publicName} API at ${news.publicUrl}. ${works}`,
    facts(...when(news), ['Expires', expiryInWords(expiresAt)]),
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}

/** The mail about changed permissions, rate limits or expiry, with old and new values. */
export function changeMail(news: News & { atMs: number; changes: KeyChanges }): Text {
  const { identifier, pages, changes } = news;
  return compose('change', news, `Your API key ${identifier} was changed`, [
    `${yourKey(news)} was changed at ${timeInWords(news.atMs)}. The change applies from that moment on.`,
    facts(
      ['Key', identifier],
      ['Name', foreign(news.keyName)],
      ...fromTo('Permissions', changes.permissions, (permissions) => permissions),
      ...fromTo('Rate limits', changes.rateLimits, (limits) => limits.map(rateLimitInWords)),
      ...fromTo('Expires', changes.expiresAt, (time) => [expiryInWords(time === null ? null : Date.parse(time))]),
    ),
    ...(changes.rateLimits === undefined ? [] : [SPENT_COUNTS]),
    'The secret is the same as before. There is nothing to do unless your program needs more than the key now allows.',
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}

const SPENT_COUNTS =
  'If a limit has the same window as before, requests already made still count against it; a limit with a new window starts unused.';

function fromTo<T>(label: string, change: { from: T; to: T } | undefined, inWords: (value: T) => string[]): Fact[] {
  if (change === undefined) return [];
  return [
    [`${label}, before`, ...inWords(change.from)],
    [`${label}, after`, ...inWords(change.to)],
  ];
}

/** The mail about a key that will expire soon; `daysLeft` is rounded up. */
export function reminderMail(news: News & { expiresAtMs: number; daysLeft: number }): Text {
  const { identifier, pages, daysLeft } = news;
  const soon = daysLeft <= 1 ? 'within a day' : `in ${daysLeft} days`;
  return compose('reminder', news, `Your API key ${identifier} expires soon`, [
    `${yourKey(news)} expires ${soon}.`,
    facts(['Key', identifier], ['Name', foreign(news.keyName)], ['Expires', timeInWords(news.expiresAtMs)]),
    'After that, every request that uses it is refused. If you still need access, request a replacement the way you requested this key, early enough for an admin to decide, or ask the people who run the service to extend this one. A profile can have three keys at a time, and this one counts until it expires.',
    ...pageLink(pages, 'Replace this key', `/keys/new?successor-of=${identifier}`),
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
    'If you no longer need it, there is nothing to do.',
  ]);
}

function when({ identifier, keyName, atMs }: News & { atMs: number }): Fact[] {
  return [
    ['Key', identifier],
    ['Name', foreign(keyName)],
    ['When', timeInWords(atMs)],
  ];
}

// The mails to ADMIN_EMAIL, for which `pages` is the prefix of the admins' pages; those about sign-ins and changed addresses; and
// the test mail.

/** The content of the mail about a new request. */
type RequestNews = {
  identifier: string;
  /** The identifier of the key that this one replaces, or null. */
  successorOf: string | null;
  profile: string;
  keyName: string;
  description: string;
  requestedPermissions: readonly Permission[];
  projectUrl: string | null;
  expectedUsage: string | null;
} & Omit<ServiceNews, 'publicUrl'> &
  Paged;

/** The mail to the admins about one pending request, with everything that its owner wrote. */
export function requestMail(news: RequestNews): Text {
  const { identifier, successorOf, projectUrl, pages } = news;
  const onServer = `${pages === null ? 'On' : 'Or on'} the machine that runs the service`;
  return compose('request', news, `API key request ${identifier} is waiting for a decision`, [
    `Somebody requested a key for the ${news.publicName} API. The name, project, description and expected usage are in the owner's own words.`,
    facts(
      ['Identifier', identifier],
      ...optional('Replaces', successorOf),
      ['Profile', foreign(news.profile)],
      ['Name', foreign(news.keyName)],
      ['Permissions', ...news.requestedPermissions],
      ...optional('Project', projectUrl),
    ),
    ...quoted('Description:', news.description),
    ...quoted('Expected usage:', news.expectedUsage),
    heading('Decide'),
    ...pageLink(pages, 'With your passkey', `/keys/${identifier}`),
    // Each command is a separate block, since a block is pasted as a whole.
    `${onServer}, look at it:`,
    code(`profilectl keys show ${identifier}`),
    'Then approve it:',
    code(`profilectl keys approve ${identifier}`),
    'Or reject it:',
    code(`profilectl keys reject ${identifier}`),
  ]);
}

function optional(label: string, value: string | null): Fact[] {
  return value === null ? [] : [[label, foreign(value)]];
}

/** The mail to the admins that somebody found and reported the secret of a key, which was then revoked. */
export function exposureMail(
  news: { identifier: string; keyName: string; profile: string | null; atMs: number; contact: string | null } & Paged,
): Text {
  const { identifier } = news;
  return compose('found-secret', news, `The secret of API key ${identifier} was found, and the key was revoked`, [
    'Somebody found the secret of a key and reported it on the page “Found a secret?”. The key was revoked at once, and its owner will get an e-mail.',
    facts(['Key', identifier], ['Name', foreign(news.keyName)], ...optional('Profile', news.profile), [
      'When',
      timeInWords(news.atMs),
    ]),
    'Its history and usage may show whether somebody else used it:',
    code(`profilectl keys show ${identifier}`, `profilectl keys usage ${identifier}`),
    ...pageLink(news.pages, 'Or see its page', `/keys/${identifier}`),
  ]);
}

/** The mail to the admins about a registered passkey. */
export function enrolmentMail(news: { admin: string; atMs: number; address: string } & ServiceNews & Paged): Text {
  const name = foreign(news.admin);
  return compose('new-passkey', { contact: news.contact }, 'An admin registered a passkey', [
    `Somebody registered a passkey at ${news.publicUrl} under an admin's name, with the link that was made for them or while they were signed in. It can be used to sign in as that admin.`,
    facts(['Admin', name], ['When', timeInWords(news.atMs)], ['From', foreign(news.address)]),
    'If that was not them, remove the admin, which ends their passkeys and sessions. On the machine that runs the service:',
    code(`profilectl admins remove ${shellWord(name)}`),
    ...pageLink(news.pages, 'List of admins', '/people'),
  ]);
}

/** The content of the mail with a sign-in code. */
type SignInNews = {
  /** As shown to people: `7Q2M-X0AB`. */
  code: string;
  profile: string;
  askedAtMs: number;
  endsAtMs: number;
  clientAddress: string;
} & ServiceNews;

/**
 * The mail with a sign-in code. It contains no link with the code, because mail scanners open links and a code works once, and
 * not the browser's User-Agent, which a stranger can choose.
 */
export function signInMail(news: SignInNews): Text {
  const { publicName, publicUrl } = news;
  return compose('sign-in', { contact: news.contact }, 'Your sign-in code', [
    `Somebody asked to sign in to ${publicName} at ${publicUrl} as the owner of your profile. If that was you, enter this code on the page where you requested it, in the same browser:`,
    code(news.code),
    facts(
      ['Profile', foreign(news.profile)],
      ['Page', `${publicUrl}/developers/sign-in/code`],
      ['Valid', `once, until ${timeInWords(news.endsAtMs)}`],
      ['Requested', timeInWords(news.askedAtMs)],
      ['From', foreign(news.clientAddress)],
    ),
    'If it was not you, ignore this e-mail: nobody can sign in without the code, and whoever requested it cannot see it. Never give it to anybody, and never enter it on any other page.',
  ]);
}

/** The mail to an owner about a sign-in that began on the platform's own site, at most one a day. */
export function signInNoticeMail(
  news: { profile: string; atMs: number; address: string; agent: string } & ServiceNews & Paged,
): Text {
  return compose('new-sign-in', { contact: news.contact }, 'New sign-in to your profile', [
    `A browser signed in to your profile at ${news.publicUrl}. It can request keys for the ${news.publicName} API in your name, and revoke those you have. If that was you, there is nothing to do.`,
    facts(
      ['Profile', foreign(news.profile)],
      ['When', timeInWords(news.atMs)],
      ['From', foreign(news.address)],
      ['With', foreign(news.agent)],
    ),
    ...(news.pages === null ? [] : [NOT_YOU, ...pageLink(news.pages, 'Your sessions', '/sessions')]),
  ]);
}

const NOT_YOU =
  'If that was not you, somebody else is signed in as you, and may be able to read your e-mail. Secure your mailbox, then open the page below and end every session that you do not recognise.';

/** The mail to a profile's former e-mail address; it does not contain the new one. */
export function addressMail(news: { profile: string; atMs: number } & ServiceNews): Text {
  const { publicUrl } = news;
  return compose('changed-address', { contact: news.contact }, 'The e-mail address of your profile was changed', [
    `The e-mail address of a profile at ${publicUrl} was changed from this one to another. From now on, sign-in codes and e-mails about the profile's keys for the ${news.publicName} API, including the secrets of new keys, go to the new address. Everybody who was signed in to the profile has been signed out.`,
    facts(['Profile', foreign(news.profile)], ['When', timeInWords(news.atMs)]),
    `If you changed it, there is nothing to do. If not, somebody may be taking over the profile: contact the people who run ${publicUrl} at once.`,
  ]);
}

/** A test mail, without any personal data. */
export function testMail(news: { sentAt: string } & ServiceNews): Text {
  return compose('test', { contact: news.contact }, `A test e-mail from ${news.publicName}`, [
    `Somebody who runs the ${news.publicName} API at ${news.publicUrl} is testing whether its e-mails arrive. This one did: it was sent at ${news.sentAt}. There is nothing to do.`,
  ]);
}
