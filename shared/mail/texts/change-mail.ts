import type { KeyChanges } from '../../db/schema/events.ts';
import { compose, fact, type Paged, pageLink, type ServiceInfo, type Text } from './compose.ts';
import { expiryInWords, foreign, rateLimitInWords, timeInWords } from './mail-wording.ts';

/** The content of the mail about changed permissions, rate limits or expiry. */
export type ChangeNews = {
  identifier: string;
  keyName: string;
  changes: KeyChanges;
  /** When the key was changed, in milliseconds since 1970; the mail may be sent later. */
  atMs: number;
  publicUrl: string;
} & ServiceInfo &
  Paged;

/** The mail about a change of a key, with old and new values. */
export function changeMail(news: ChangeNews): Text {
  const { identifier, publicUrl, pages, changes } = news;
  return compose('change', news, `Your API key ${identifier} was changed`, [
    {
      kind: 'paragraph',
      text: `Your key for the ${news.publicName} API at ${publicUrl} was changed at ${timeInWords(news.atMs)}. The change applies from that moment on.`,
    },
    {
      kind: 'facts',
      facts: [
        fact('Key', identifier),
        fact('Name', foreign(news.keyName)),
        ...fromTo('Permissions', changes.permissions, (permissions) => permissions),
        ...fromTo('Rate limits', changes.rateLimits, (limits) => limits.map(rateLimitInWords)),
        ...fromTo('Expires', changes.expiresAt, (time) => [expiryInWords(time === null ? null : Date.parse(time))]),
      ],
    },
    ...(changes.rateLimits === undefined
      ? []
      : [
          {
            kind: 'paragraph' as const,
            text: 'If a limit has the same window as before, requests already made still count against it; a limit with a new window starts unused.',
          },
        ]),
    {
      kind: 'paragraph',
      text: 'The secret is the same as before. There is nothing to do unless your program needs more than the key now allows.',
    },
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}

function fromTo<T>(label: string, change: { from: T; to: T } | undefined, inWords: (value: T) => readonly string[]) {
  if (change === undefined) return [];
  return [fact(`${label}, before`, ...inWords(change.from)), fact(`${label}, after`, ...inWords(change.to))];
}
