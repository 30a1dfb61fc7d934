import { compose, fact, type Paged, pageLink, type ServiceInfo, type Text } from './compose.ts';
import type { Block } from './layout.ts';
import { foreign, timeInWords } from './mail-wording.ts';

// Mails to owners about actions of people who were signed in as them, in case that was somebody else.

/** The content of these mails: the key, and what happened to it when. */
export type OwnNews = {
  identifier: string;
  keyName: string;
  /** Milliseconds since 1970. */
  atMs: number;
  publicUrl: string;
} & ServiceInfo &
  Paged;

/** The mail about a key that was requested in the owner's name. */
export function submissionMail(news: OwnNews): Text {
  const { identifier, publicUrl, pages } = news;
  return compose('submission', news, `API key ${identifier} was requested for your profile`, [
    {
      kind: 'paragraph',
      text: `A key for the ${news.publicName} API at ${publicUrl} was requested by somebody who was signed in to your profile. If that was you, there is nothing to do: you will get an e-mail with the decision.`,
    },
    { kind: 'facts', facts: factsOf(news) },
    ...pageLink(pages, 'See or withdraw the request', `/keys/${identifier}`),
    ...notYou(pages),
  ]);
}

/** The mail about a key that was renamed in the owner's name. */
export function renamingMail(news: OwnNews & { nameBefore: string; nameAfter: string }): Text {
  const { identifier, publicUrl, pages, nameBefore, nameAfter } = news;
  const [key, , when] = factsOf(news);
  return compose('renaming', news, `Your API key ${identifier} was renamed`, [
    {
      kind: 'paragraph',
      text: `Your key for the ${news.publicName} API at ${publicUrl} was renamed by somebody who was signed in to your profile. If that was you, there is nothing to do.`,
    },
    {
      kind: 'facts',
      facts: [key, fact('Name, before', foreign(nameBefore)), fact('Name, now', foreign(nameAfter)), when],
    },
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
    ...notYou(pages),
  ]);
}

/** What to do if it was somebody else; nothing if there are no pages. */
export function notYou(pages: string | null): Block[] {
  if (pages === null) return [];
  return [
    {
      kind: 'paragraph',
      text: 'If that was not you, somebody else is signed in as you, and may be able to read your e-mail. Secure your mailbox, then open the page below and end every session that you do not recognise.',
    },
    ...pageLink(pages, 'Your sessions', '/sessions'),
  ];
}

/** The key, its name, and the time. */
export function factsOf({ identifier, keyName, atMs }: OwnNews) {
  return [fact('Key', identifier), fact('Name', foreign(keyName)), fact('When', timeInWords(atMs))] as const;
}
