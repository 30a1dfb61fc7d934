import { and, eq, gte, sql } from 'drizzle-orm';
import { DAY_MS } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { preparedOnce, type Tx } from '../db/connect.ts';
import { apiKeys, mails, profiles, WEBHOOK } from '../db/schema.ts';
import { AppError } from '../errors.ts';
import type { Act } from '../events.ts';
import { isMailAddress } from './address.ts';
import type { Text } from './compose.ts';
import { addressMail, signInNoticeMail } from './texts.ts';

// Mails without a secret, and posts to the webhook, are stored whole in the transaction that they report; `delivery.ts` sends
// them afterwards. Times are milliseconds since 1970.

/** The settings that mails quote, and their recipients. */
export type MailConfig = Pick<
  Config,
  'adminEmails' | 'adminWebhook' | 'publicName' | 'publicUrl' | 'contact' | 'ownerPages' | 'adminPages'
>;

/** A command sends its mails itself; meanwhile the server leaves them alone. */
const HEAD_START_MS = 60_000;

type Addressed = { profileId: number | null; to: string | null };

/** Stores a mail inside the transaction that it reports. Returns its id. */
export function storeMail(
  tx: Tx,
  { kind, identifier, subject, text }: Text,
  to: Addressed,
  { atMs }: Pick<Act, 'atMs'>,
  nextTryAt = atMs,
): number {
  const mail = { kind, identifier: identifier === '' ? null : identifier, subject, body: text };
  return tx
    .insert(mails)
    .values({ ...mail, ...to, at: atMs, nextTryAt })
    .returning({ id: mails.id })
    .get().id;
}

/** A mail about a key that an operator changed is first the command's to send. */
function firstTryAt({ by, atMs }: Act): number {
  return by.kind === 'operator' ? atMs + HEAD_START_MS : atMs;
}

/** What mails about a key say; `pages` are those of its owner. */
export function readKeyNews(tx: Tx, config: MailConfig, identifier: string, { atMs }: Pick<Act, 'atMs'>) {
  const row = tx
    .select({
      identifier: apiKeys.identifier,
      keyName: apiKeys.name,
      description: apiKeys.description,
      requestedPermissions: apiKeys.requestedPermissions,
      projectUrl: apiKeys.projectUrl,
      expectedUsage: apiKeys.expectedUsage,
      successorOf: apiKeys.successorOf,
      expiresAt: apiKeys.expiresAt,
      profileId: profiles.id,
      profile: profiles.username,
      isBanned: profiles.banned,
    })
    .from(apiKeys)
    .innerJoin(profiles, eq(profiles.id, apiKeys.profileId))
    .where(eq(apiKeys.identifier, identifier))
    .get();
  if (row === undefined) throw new AppError('not_found', `There is no key ${identifier}.`);
  return { ...row, ...serviceNews(config), atMs, pages: config.ownerPages };
}

export type KeyNews = ReturnType<typeof readKeyNews>;

function serviceNews({ publicName, publicUrl, contact }: MailConfig) {
  return { publicName, publicUrl, contact };
}

/** Stores a mail about a key to its owner. Returns its id. */
export function mailOwner(
  tx: Tx,
  config: MailConfig,
  identifier: string,
  textOf: (news: KeyNews) => Text,
  act: Act,
): number[] {
  const news = readKeyNews(tx, config, identifier, act);
  return [storeMail(tx, textOf(news), { profileId: news.profileId, to: null }, act, firstTryAt(act))];
}

/**
 * Stores a mail about a key to each address of ADMIN_EMAIL, and a post of its subject, which may quote nobody, to the webhook.
 * Returns their ids.
 */
export function tellAdmins(
  tx: Tx,
  config: MailConfig,
  identifier: string,
  textOf: (news: KeyNews) => Text,
  act: Act,
): number[] {
  const news = { ...readKeyNews(tx, config, identifier, act), pages: config.adminPages };
  const { profileId, pages } = news;
  const text = textOf(news);
  const ids = mailAdmins(tx, config, profileId, text, act);
  if (config.adminWebhook === null) return ids;
  const where = pages === null ? `profilectl keys show ${identifier}` : `${pages}/keys/${identifier}`;
  const post = { ...text, text: `${text.subject} (UID ${profileId}).\n${where}` };
  return [...ids, storeMail(tx, post, { profileId, to: WEBHOOK }, act, firstTryAt(act))];
}

/** Stores a mail to each address of ADMIN_EMAIL; `profileId` is whom it is about, if anybody. Returns their ids. */
export function mailAdmins(
  tx: Tx,
  { adminEmails }: MailConfig,
  profileId: number | null,
  text: Text,
  act: Act,
): number[] {
  return adminEmails.map((to) => storeMail(tx, text, { profileId, to }, act, firstTryAt(act)));
}

const MAX_ADDRESS_MAILS_A_DAY = 3;

/**
 * Stores a mail to a profile's former e-mail address: at most three a day, so that nobody can make the service send many
 * mails, and one for all lines of a transaction, which have the same time.
 */
export function mailFormerAddress(
  tx: Tx,
  config: MailConfig,
  { profileId, formerEmail }: { profileId: number; formerEmail: string },
  act: Act,
): void {
  if (!isMailAddress(formerEmail)) return;
  const recent = mailsOfKind(tx).all({ profileId, kind: 'changed-address', since: act.atMs - DAY_MS });
  if (recent.length >= MAX_ADDRESS_MAILS_A_DAY || recent.some(({ at }) => at === act.atMs)) return;
  const profile = ownerOf(tx).get({ profileId })?.username ?? '';
  const text = addressMail({ ...serviceNews(config), profile, atMs: act.atMs });
  storeMail(tx, text, { profileId, to: formerEmail }, act);
}

/** Stores a mail to an owner about a sign-in by hand-over, if there is an address for it; once a UTC day at most. */
export function mailSignIn(
  tx: Tx,
  config: MailConfig,
  { profileId, address, agent }: { profileId: number; address: string; agent: string },
  act: Act,
): void {
  const since = act.atMs - (act.atMs % DAY_MS);
  if (mailsOfKind(tx).get({ profileId, kind: 'new-sign-in', since }) !== undefined) return;
  const { username: profile = '', email = null } = ownerOf(tx).get({ profileId }) ?? {};
  if (email === null) return;
  const news = { ...serviceNews(config), pages: config.ownerPages, profile, atMs: act.atMs, address, agent };
  storeMail(tx, signInNoticeMail(news), { profileId, to: null }, act);
}

const mailsOfKind = preparedOnce((db) =>
  db
    .select({ at: mails.at })
    .from(mails)
    .where(
      and(
        eq(mails.profileId, sql.placeholder('profileId')),
        eq(mails.kind, sql.placeholder('kind')),
        gte(mails.at, sql.placeholder('since')),
      ),
    )
    .prepare(),
);

const ownerOf = preparedOnce((db) =>
  db
    .select({ username: profiles.username, email: profiles.email })
    .from(profiles)
    .where(eq(profiles.id, sql.placeholder('profileId')))
    .prepare(),
);
