import type { Permission } from '../../db/key-columns.ts';
import type { Predecessor } from '../../keys/life/successor.ts';
import type { RateLimit } from '../../limits/rate-limit.ts';
import { compose, type Fact, fact, type Paged, pageLink, quoted, type ServiceInfo, type Text } from './compose.ts';
import { curlLine, expiryInWords, foreign, rateLimitInWords, successionBlocks } from './mail-wording.ts';
import { notYou } from './owner-mails.ts';

/** The content of the mail about an approval. No other text ever contains a secret. */
export type ApprovalNews = {
  identifier: string;
  secret: string;
  keyName: string;
  profile: string;
  requestedPermissions: readonly Permission[];
  permissions: readonly Permission[];
  rateLimits: readonly RateLimit[];
  /** Milliseconds since 1970; null for never. */
  expiresAtMs: number | null;
  predecessor: Predecessor | null;
  publicUrl: string;
} & ServiceInfo &
  Paged;

/** The content of the mails about a rejected request and a revoked key. */
export type DecisionNews = {
  identifier: string;
  keyName: string;
  reason: string | null;
  publicUrl: string;
} & ServiceInfo &
  Paged;

/** The mail with the secret. */
export function approvalMail(news: ApprovalNews): Text {
  const { identifier, publicUrl, pages } = news;
  return compose('approval', news, `Your API key ${identifier} is approved`, [
    {
      kind: 'paragraph',
      text: `Your key request for the ${news.publicName} API at ${publicUrl} was approved. This is the secret of key ${identifier}:`,
    },
    { kind: 'code', text: news.secret },
    {
      kind: 'paragraph',
      text: 'The service keeps no copy and will not send it again, so store it now. A secret in an earlier e-mail about this key no longer works.',
    },
    { kind: 'facts', facts: grantFacts(news) },
    ...successionBlocks(identifier, news.predecessor),
    { kind: 'heading', text: 'Try it' },
    {
      kind: 'paragraph',
      text: 'Paste this line into a terminal, then paste the secret and press Enter. The secret is not shown and does not end up in the history of your shell. The response lists what the key may do; this request does not count against its limits. If it says that the key is not valid, look for a newer e-mail about this key: only the latest secret works.',
    },
    { kind: 'code', text: curlLine(publicUrl) },
    { kind: 'link', label: 'How to use the API', url: `${publicUrl}/docs` },
    { kind: 'heading', text: 'Keep it secret' },
    { kind: 'list', items: keeping(publicUrl) },
    { kind: 'heading', text: 'If you lose it' },
    {
      kind: 'paragraph',
      text: 'A lost secret cannot be sent again. Request a replacement the way you requested this key. A profile can have three keys at a time; if you already have three, revoke the lost one first.',
    },
    {
      kind: 'paragraph',
      text: `If somebody else may have seen the secret, ${pages === null ? `ask the people who run ${publicUrl} to revoke key ${identifier}` : `revoke key ${identifier} on its page at once`}. The identifier is safe to share.`,
    },
    ...pageLink(pages, 'View this key', `/keys/${identifier}`),
  ]);
}

/** The mail about a rejected request. */
export function rejectionMail(news: DecisionNews): Text {
  const { identifier, publicUrl, pages } = news;
  return compose('rejection', news, `Your API key request ${identifier} was rejected`, [
    { kind: 'paragraph', text: `Your key request for the ${news.publicName} API at ${publicUrl} was rejected.` },
    { kind: 'facts', facts: [fact('Request', identifier), fact('Name', foreign(news.keyName))] },
    ...quoted('The reason:', news.reason),
    {
      kind: 'paragraph',
      text: 'You can change the request and send it again. This one no longer counts towards the limit of three keys.',
    },
    ...pageLink(pages, 'Request again', `/keys/new?like=${identifier}`),
  ]);
}

/** The mail about a revoked key; `isOwnDoing` if the owner, or somebody signed in as them, revoked it. */
export function revocationMail(news: DecisionNews & { isOwnDoing: boolean }): Text {
  const { identifier, publicUrl, pages, isOwnDoing } = news;
  const inYourName = isOwnDoing ? ' in your name' : '';
  return compose('revocation', news, `Your API key ${identifier} was revoked`, [
    {
      kind: 'paragraph',
      text: `Your key for the ${news.publicName} API at ${publicUrl} was revoked${inYourName}. Every request that uses it is now refused.`,
    },
    { kind: 'facts', facts: [fact('Key', identifier), fact('Name', foreign(news.keyName))] },
    ...quoted('The reason:', news.reason),
    {
      kind: 'paragraph',
      text: 'Remove its secret from wherever you keep it. If you still need access, request a key again; this one no longer counts towards the limit of three keys.',
    },
    ...pageLink(pages, 'Request again', `/keys/new?like=${identifier}`),
    ...(isOwnDoing ? notYou(pages) : []),
  ]);
}

/** A test mail, without any personal data. */
export function testMail(news: { sentAt: string; publicUrl: string } & ServiceInfo): Text {
  return compose('test', { ...news, identifier: '' }, `A test e-mail from ${news.publicName}`, [
    {
      kind: 'paragraph',
      text: `Somebody who runs the ${news.publicName} API at ${news.publicUrl} is testing whether its e-mails arrive. This one did: it was sent at ${news.sentAt}. There is nothing to do.`,
    },
  ]);
}

function keeping(publicUrl: string): string[] {
  return [
    'Keep it in a password manager or in the secret store of your server.',
    'Never put it into client-side code (a web page, a mobile or desktop app) or into a repository.',
    'Never put it into a URL, a chat, a ticket or a screenshot.',
    `Send it only as "Authorization: Bearer <secret>", and only to ${publicUrl}/api.`,
  ];
}

const GRANTS: Record<Permission, string> = {
  'api.lookup': 'api.lookup (profiles and their links)',
  'api.leaderboard': 'api.leaderboard (the leaderboard)',
};

function grantFacts(news: ApprovalNews): Fact[] {
  return [
    fact('Identifier', news.identifier),
    fact('Name', foreign(news.keyName)),
    fact('Profile', foreign(news.profile)),
    fact('Granted', ...news.permissions.map((permission) => GRANTS[permission])),
    fact('Requested', news.requestedPermissions.join(', ')),
    fact('Rate limits', ...news.rateLimits.map(rateLimitInWords)),
    fact('Expires', expiryInWords(news.expiresAtMs)),
  ];
}
