import { compose, fact, type ServiceInfo, type Text } from './compose.ts';
import { foreign, timeInWords } from './mail-wording.ts';

/** The content of the mail with a sign-in code. Times are milliseconds since 1970. */
export type SignInNews = {
  /** As shown to people: `7Q2M-X0AB`. */
  code: string;
  profile: string;
  askedAtMs: number;
  endsAtMs: number;
  clientAddress: string;
  publicUrl: string;
} & ServiceInfo;

/**
 * The mail with a sign-in code. It contains no link with the code, because mail scanners open links and a code works once, and
 * not the browser's User-Agent, which a stranger can choose.
 */
export function signInMail(news: SignInNews): Text {
  const { publicName, publicUrl } = news;
  const title = 'Your sign-in code';
  return compose('sign-in', { ...news, identifier: '' }, title, [
    {
      kind: 'paragraph',
      text: `Somebody asked to sign in to ${publicName} at ${publicUrl} as the owner of your profile. If that was you, enter this code on the page where you requested it, in the same browser:`,
    },
    { kind: 'code', text: news.code },
    {
      kind: 'facts',
      facts: [
        fact('Profile', foreign(news.profile)),
        fact('Page', `${publicUrl}/developers/sign-in/code`),
        fact('Valid', `once, until ${timeInWords(news.endsAtMs)}`),
        fact('Requested', timeInWords(news.askedAtMs)),
        fact('From', foreign(news.clientAddress)),
      ],
    },
    {
      kind: 'paragraph',
      text: 'If it was not you, ignore this e-mail: nobody can sign in without the code, and whoever requested it cannot see it. Never give it to anybody, and never enter it on any other page.',
    },
  ]);
}
