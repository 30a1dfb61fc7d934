import type { Mail } from '../mail/mail.ts';
import { shellWord } from '../text.ts';
import { compose, fact, type Paged, pageLink, type ServiceInfo } from './compose.ts';
import { foreign, timeInWords } from './mail-wording.ts';
import { notYou } from './owner-mails.ts';

// Mails about people instead of keys: sign-ins, changed e-mail addresses, bans and new admins.

/** The mail about a sign-in by an unknown browser or command line, which `agent` names. */
export function newSignInMail(
  news: { to: string; profile: string; atMs: number; address: string; agent: string; publicUrl: string } & ServiceInfo &
    Paged,
): Mail {
  return compose('new-sign-in', { ...news, identifier: '' }, 'New sign-in to your profile', [
    {
      kind: 'paragraph',
      text: `A new browser or program signed in to your profile at ${news.publicUrl}. It can request keys for the ${news.publicName} API in your name, and revoke those you have. If that was you, there is nothing to do.`,
    },
    {
      kind: 'facts',
      facts: [
        fact('Profile', foreign(news.profile)),
        fact('When', timeInWords(news.atMs)),
        fact('From', foreign(news.address)),
        fact('With', foreign(news.agent)),
      ],
    },
    ...notYou(news.pages),
  ]);
}

/** The mail to a profile's former e-mail address; it does not contain the new one. */
export function addressMail(
  news: { to: string; profile: string; atMs: number; publicUrl: string } & ServiceInfo,
): Mail {
  const { publicUrl } = news;
  return compose('address', { ...news, identifier: '' }, 'The e-mail address of your profile was changed', [
    {
      kind: 'paragraph',
      text: `The e-mail address of a profile at ${publicUrl} was changed from this one to another. From now on, sign-in codes and e-mails about the profile's keys for the ${news.publicName} API, including the secrets of new keys, go to the new address. Everybody who was signed in to the profile has been signed out.`,
    },
    { kind: 'facts', facts: [fact('Profile', foreign(news.profile)), fact('When', timeInWords(news.atMs))] },
    {
      kind: 'paragraph',
      text: `If you changed it, there is nothing to do. If not, somebody may be taking over the profile: contact the people who run ${publicUrl} at once.`,
    },
  ]);
}

/** The mail about a ban of the profile, or its end. */
export function banMail(
  news: {
    to: string;
    profile: string;
    isBanned: boolean;
    keys: readonly string[];
    atMs: number;
    publicUrl: string;
  } & ServiceInfo &
    Paged,
): Mail {
  const { publicUrl, isBanned } = news;
  const title = isBanned
    ? 'Your profile was banned, and its API keys are refused'
    : 'Your profile is no longer banned, and its API keys work again';
  const text = isBanned
    ? `Your profile was banned at ${publicUrl}. Every request that uses one of its keys for the ${news.publicName} API is refused while the ban lasts. The keys below keep their secrets, rate limits and expiry, and work again when the ban is lifted. Until then you can look at keys, withdraw requests and revoke keys, but not request or rename any.`
    : `The ban on your profile at ${publicUrl} was lifted. The keys below for the ${news.publicName} API work again with the same secrets. There is nothing to do.`;
  return compose('ban', { ...news, identifier: '' }, title, [
    { kind: 'paragraph', text },
    {
      kind: 'facts',
      facts: [fact('Profile', foreign(news.profile)), fact('Keys', ...news.keys), fact('When', timeInWords(news.atMs))],
    },
    ...pageLink(news.pages, 'Your keys', '/keys'),
  ]);
}

/** The mail to the admins about a registered passkey. */
export function enrolmentMail(
  news: { to: string; admin: string; atMs: number; address: string; publicUrl: string } & ServiceInfo & Paged,
): Mail {
  const name = shellWord(foreign(news.admin));
  return compose('enrolment', { ...news, identifier: '' }, 'An admin registered a passkey', [
    {
      kind: 'paragraph',
      text: `Somebody registered a passkey at ${news.publicUrl} under an admin's name, with the link that was made for them or while they were signed in. It can be used to sign in as that admin.`,
    },
    {
      kind: 'facts',
      facts: [
        fact('Admin', foreign(news.admin)),
        fact('When', timeInWords(news.atMs)),
        fact('From', foreign(news.address)),
      ],
    },
    {
      kind: 'paragraph',
      text: 'If that was not them, remove the admin on the machine that runs the service, which ends their passkeys and sessions:',
    },
    { kind: 'code', text: `profilectl admins remove ${name}` },
    ...pageLink(news.pages, 'List of admins', '/people'),
  ]);
}
