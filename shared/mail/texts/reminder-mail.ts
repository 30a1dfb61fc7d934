import { compose, fact, type Paged, pageLink, type ServiceInfo, type Text } from './compose.ts';
import { foreign, timeInWords } from './mail-wording.ts';

/** The content of the mail before a key expires. */
export type ReminderNews = {
  identifier: string;
  keyName: string;
  /** Milliseconds since 1970. */
  expiresAtMs: number;
  /** Rounded up. */
  daysLeft: number;
  publicUrl: string;
} & ServiceInfo &
  Paged;

/** The mail about a key that will expire soon. */
export function reminderMail(news: ReminderNews): Text {
  const { identifier, publicUrl, pages, daysLeft } = news;
  const soon = daysLeft <= 1 ? 'within a day' : `in ${daysLeft} days`;
  return compose('reminder', news, `Your API key ${identifier} expires soon`, [
    { kind: 'paragraph', text: `Your key for the ${news.publicName} API at ${publicUrl} expires ${soon}.` },
    {
      kind: 'facts',
      facts: [
        fact('Key', identifier),
        fact('Name', foreign(news.keyName)),
        fact('Expires', timeInWords(news.expiresAtMs)),
      ],
    },
    {
      kind: 'paragraph',
      text: 'After that, every request that uses it is refused. If you still need access, request a replacement the way you requested this key, early enough for an admin to decide, or ask the people who run the service to extend this one. A profile can have three keys at a time, and this one counts until it expires.',
    },
    ...pageLink(pages, 'Replace this key', `/keys/new?successor-of=${identifier}`),
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
    { kind: 'paragraph', text: 'If you no longer need it, there is nothing to do.' },
  ]);
}
