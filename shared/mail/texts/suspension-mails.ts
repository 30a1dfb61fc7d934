import { compose, fact, pageLink, quoted, type Text } from './compose.ts';
import { expiryInWords } from './mail-wording.ts';
import type { DecisionNews } from './mails.ts';
import { factsOf, type OwnNews } from './owner-mails.ts';

// Mails to owners about suspended and resumed keys.

/** `expiresAt` is in milliseconds since 1970; null for never. */
type SuspensionNews = OwnNews & { expiresAt: number | null };

/** The mail about a suspended key. */
export function suspensionMail(news: SuspensionNews & Pick<DecisionNews, 'reason'>): Text {
  const { identifier, publicUrl, pages, expiresAt } = news;
  const until = expiresAt === null ? '' : ' before it expires';
  return compose('suspension', news, `Your API key ${identifier} was suspended`, [
    {
      kind: 'paragraph',
      text: `Your key for the ${news.publicName} API at ${publicUrl} was suspended by an admin. Every request that uses it is refused while it is suspended.`,
    },
    { kind: 'facts', facts: [...factsOf(news), fact('Expires', expiryInWords(expiresAt))] },
    ...quoted('The reason:', news.reason),
    {
      kind: 'paragraph',
      text: `Keep its secret: if an admin resumes the key${until}, the same secret works again, and you will get an e-mail. Until then it still counts as one of the three keys that a profile can have.`,
    },
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}

/** The mail about a resumed key, which is still refused if its profile is banned. */
export function resumptionMail(news: SuspensionNews & { isBanned: boolean }): Text {
  const { identifier, publicUrl, pages, expiresAt, isBanned } = news;
  const works = isBanned
    ? 'It is still refused while your profile is banned, and works again with the same secret once the ban is lifted.'
    : 'It works again with the same secret and the same rate limits. There is nothing to do.';
  return compose('resumption', news, `Your API key ${identifier} was resumed`, [
    {
      kind: 'paragraph',
      text: `An admin ended the suspension of your key for the ${news.publicName} API at ${publicUrl}. ${works}`,
    },
    { kind: 'facts', facts: [...factsOf(news), fact('Expires', expiryInWords(expiresAt))] },
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}
