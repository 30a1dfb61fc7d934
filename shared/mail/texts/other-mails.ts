import type { Permission } from '../../db/key-columns.ts';
import { shellWord } from '../../text.ts';
import {
  code,
  compose,
  type Fact,
  facts,
  foreign,
  heading,
  type Paged,
  pageLink,
  quoted,
  type ServiceNews,
  type Text,
  timeInWords,
} from './compose.ts';
import { notYou } from './key-mails.ts';

// The mails to ADMIN_EMAIL, for which `pages` is the prefix of the admins' pages; those about sign-ins and changed addresses; and
// the test mail. Times are milliseconds since 1970.

/** The content of the mail about a new request. */
export type RequestNews = {
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
    code(`profilectl keys reject ${identifier} --reason "..."`),
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
  return compose('exposure', news, `The secret of API key ${identifier} was found`, [
    'Somebody found the secret of a key and reported it on the page “Found a secret?”. The key was revoked at once, and its owner will get an e-mail.',
    facts(['Key', identifier], ['Name', foreign(news.keyName)], ...optional('Profile', news.profile), [
      'When',
      timeInWords(news.atMs),
    ]),
    'Its history and usage may show whether somebody else used it:',
    code(`profilectl keys show ${identifier}`, `profilectl keys usage ${identifier}`),
    ...pageLink(news.pages, 'Or on its page', `/keys/${identifier}`),
  ]);
}

/** The mail to the admins about a registered passkey. */
export function enrolmentMail(news: { admin: string; atMs: number; address: string } & ServiceNews & Paged): Text {
  const name = foreign(news.admin);
  return compose('enrolment', { contact: news.contact }, 'An admin registered a passkey', [
    `Somebody registered a passkey at ${news.publicUrl} under an admin's name, with the link that was made for them or while they were signed in. It can be used to sign in as that admin.`,
    facts(['Admin', name], ['When', timeInWords(news.atMs)], ['From', foreign(news.address)]),
    'If that was not them, remove the admin on the machine that runs the service, which ends their passkeys and sessions:',
    code(`profilectl admins remove ${shellWord(name)}`),
    ...pageLink(news.pages, 'List of admins', '/people'),
  ]);
}

/** The content of the mail with a sign-in code. */
export type SignInNews = {
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
    ...notYou(news.pages),
  ]);
}

/** The mail to a profile's former e-mail address; it does not contain the new one. */
export function addressMail(news: { profile: string; atMs: number } & ServiceNews): Text {
  const { publicUrl } = news;
  return compose('address', { contact: news.contact }, 'The e-mail address of your profile was changed', [
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
