import type { Block } from '../mail/layout.ts';
import type { Mail } from '../mail/mail.ts';
import { type Asked, compose, fact, type Paged, pageLink } from './compose.ts';
import { foreign, timeInWords } from './mail-wording.ts';

// What owners are told of what was done in their names by somebody who was signed in as them: it may not have been them.

/** What was done to which key, in its owner's name for most of these mails. */
export type OwnNews = {
  to: string;
  identifier: string;
  keyName: string;
  /** When it was done, in milliseconds since 1970. */
  atMs: number;
  publicUrl: string;
} & Asked &
  Paged;

/** Tells the owner that a key was requested in his name, and where to take that back. */
export function submissionMail(news: OwnNews): Mail {
  const { identifier, publicUrl, pages } = news;
  return compose('submission', news, `API key ${identifier} was requested in your name`, [
    {
      kind: 'paragraph',
      text: `Somebody who was signed in as you requested a key for the ${news.publicName} API at ${publicUrl}. If that was you, there is nothing to do: you will get an e-mail with the decision.`,
    },
    { kind: 'facts', facts: factsOf(news) },
    ...pageLink(pages, 'See or withdraw the request', `/keys/${identifier}`),
    ...notYou(pages),
  ]);
}

/** Tells the owner that a key was renamed in his name, from what to what. */
export function renamingMail(news: OwnNews & { nameBefore: string; nameAfter: string }): Mail {
  const { identifier, publicUrl, pages, nameBefore, nameAfter } = news;
  const [key, , when] = factsOf(news);
  return compose('renaming', news, `Your API key ${identifier} was renamed`, [
    {
      kind: 'paragraph',
      text: `Somebody who was signed in as you renamed your key for the ${news.publicName} API at ${publicUrl}. If that was you, there is nothing to do.`,
    },
    {
      kind: 'facts',
      facts: [key, fact('Name, before', foreign(nameBefore)), fact('Name, now', foreign(nameAfter)), when],
    },
    ...pageLink(pages, 'The page of this key', `/keys/${identifier}`),
    ...notYou(pages),
  ]);
}

/** What an owner does who has not done it: where to end what somebody else is signed in by. */
export function notYou(pages: string | null): Block[] {
  if (pages === null) return [];
  return [
    {
      kind: 'paragraph',
      text: 'If that was not you, somebody else is signed in as you, and may be able to read your e-mail. Secure your mailbox, then end every sign-in that you do not recognise on this page.',
    },
    ...pageLink(pages, 'Who is signed in', '/sessions'),
  ];
}

/** Which key it was, what it is called, and when that happened that a mail tells of. */
export function factsOf({ identifier, keyName, atMs }: OwnNews) {
  return [fact('Key', identifier), fact('Name', foreign(keyName)), fact('When', timeInWords(atMs))] as const;
}
