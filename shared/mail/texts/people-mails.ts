import { shellWord } from '../../text.ts';
import { compose, fact, type Paged, pageLink, type ServiceInfo, type Text } from './compose.ts';
import { foreign, timeInWords } from './mail-wording.ts';
import { notYou } from './owner-mails.ts';

// Mails about people instead of keys: sign-ins, changed e-mail addresses and new admins.

/** The mail about a sign-in that began on the platform's own site, at most one a day. */
export function signInNoticeMail(
  news: { profile: string; atMs: number; address: string; agent: string; publicUrl: string } & ServiceInfo & Paged,
): Text {
  return compose('new-sign-in', { ...news, identifier: '' }, 'New sign-in to your profile', [
    {
      kind: 'paragraph',
      text: `A browser signed in to your profile at ${news.publicUrl}. It can request keys for the ${news.publicName} API in your name, and revoke those you have. If that was you, there is nothing to do.`,
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
export function addressMail(news: { profile: string; atMs: number; publicUrl: string } & ServiceInfo): Text {
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

/** The mail to the admins about a registered passkey. */
export function enrolmentMail(
  news: { admin: string; atMs: number; address: string; publicUrl: string } & ServiceInfo & Paged,
): Text {
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
