import type { Permission } from '../../db/key-columns.ts';
import { compose, type Fact, fact, type Paged, pageLink, quoted, type ServiceInfo, type Text } from './compose.ts';
import type { Block } from './layout.ts';
import { foreign, timeInWords } from './mail-wording.ts';

// The mails about keys to ADMIN_EMAIL. `pages` is the URL prefix of the pages for admins.

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
} & ServiceInfo &
  Paged;

/** The mail about one pending request, with everything that its owner wrote. */
export function requestMail(news: RequestNews): Text {
  const { identifier } = news;
  return compose('request', news, `API key request ${identifier} is waiting for a decision`, [
    {
      kind: 'paragraph',
      text: `Somebody requested a key for the ${news.publicName} API. The name, project, description and expected usage are in the owner's own words.`,
    },
    { kind: 'facts', facts: factsOf(news) },
    { kind: 'paragraph', text: 'Description:' },
    { kind: 'quote', text: foreign(news.description, true) },
    ...quoted('Expected usage:', news.expectedUsage),
    ...deciding(news.pages, `/keys/${identifier}`, [
      ['look at it', `show ${identifier}`],
      ['Then approve it', `approve ${identifier}`],
      ['Or reject it', `reject ${identifier} --reason "..."`],
    ]),
  ]);
}

/** The mail that somebody found and reported the secret of a key, which was then revoked. */
export function exposureMail(
  news: { identifier: string; keyName: string; profile: string | null; atMs: number } & ServiceInfo & Paged,
): Text {
  const { identifier, profile } = news;
  return compose('exposure', news, `The secret of API key ${identifier} was found`, [
    {
      kind: 'paragraph',
      text: 'Somebody found the secret of a key and reported it on the page “Found a secret?”. The key was revoked at once, and its owner will get an e-mail.',
    },
    {
      kind: 'facts',
      facts: [
        fact('Key', identifier),
        fact('Name', foreign(news.keyName)),
        ...(profile === null ? [] : [fact('Profile', foreign(profile))]),
        fact('When', timeInWords(news.atMs)),
      ],
    },
    { kind: 'paragraph', text: 'Its history and usage may show whether somebody else used it:' },
    { kind: 'code', text: commands([`show ${identifier}`, `usage ${identifier}`]) },
    ...pageLink(news.pages, 'Or on its page', `/keys/${identifier}`),
  ]);
}

function factsOf(request: RequestNews): Fact[] {
  return [
    fact('Identifier', request.identifier),
    ...(request.successorOf === null ? [] : [fact('Replaces', request.successorOf)]),
    fact('Profile', foreign(request.profile)),
    fact('Name', foreign(request.keyName)),
    fact('Permissions', ...request.requestedPermissions),
    ...(request.projectUrl === null ? [] : [fact('Project', foreign(request.projectUrl))]),
  ];
}

/** How to decide. Each command is a separate block, since a block is pasted as a whole. */
function deciding(
  pages: string | null,
  path: string,
  lines: readonly (readonly [step: string, line: string])[],
): Block[] {
  const where = `${pages === null ? 'On' : 'Or on'} the machine that runs the service`;
  return [
    { kind: 'heading', text: 'Decide' },
    ...pageLink(pages, 'With your passkey', path),
    ...lines.flatMap(([step, line], at): Block[] => [
      { kind: 'paragraph', text: `${at === 0 ? `${where}, ` : ''}${step}:` },
      { kind: 'code', text: commands([line]) },
    ]),
  ];
}

function commands(lines: readonly string[]): string {
  return lines.map((line) => `profilectl keys ${line}`).join('\n');
}
