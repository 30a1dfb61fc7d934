import { and, asc, count, eq, gt, inArray, lt, lte, ne, notInArray, or, type SQL, sql } from 'drizzle-orm';
import { DAY_MS, isoTime, systemClock } from '../clock.ts';
import type { Db } from '../db/connect.ts';
import { mails, profiles, WEBHOOK } from '../db/schema.ts';
import { whenFree, write } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Delivery, Mailer } from './send.ts';
import { postToWebhook } from './webhook.ts';

// Stored mails (`outbox.ts`) are sent by the command that stored them, and by the server what is left. After a crash between
// the mail server's acceptance and its recording, a mail is sent twice; none is lost. Times are milliseconds since 1970.

const MAX_RECIPIENTS = 5;
const TIMEOUT_MS = 30_000;

/** A command leaves to the server what it has not begun to send after this time. */
const COMMAND_MS = 20_000;

/** The pause after the first failure. Each further pause is twice as long, up to the longest. */
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = DAY_MS / 4;

/** Older mails are dropped. */
const MAX_AGE_MS = 3 * DAY_MS;

/** How long ended mails are kept: as long as `status` lists them. */
const KEPT_MS = 30 * DAY_MS;

/** How long a mail waits for the lock, before and after it is sent: one whose result is not stored is sent again. */
const LOCK_MS = 10_000;

type Report = (level: 'info' | 'warn' | 'error', sentence: string) => void;

/** Values in the condition of a partial index are inlined: SQLite does not use it for parameters. */
const IS_WAITING = eq(mails.result, 'waiting').inlineParams();

/** Where a mail goes now; empty if the profile has no address. */
const RECIPIENT = sql<string>`coalesce(${mails.to},
  (SELECT ${profiles.email} FROM ${profiles} WHERE ${profiles.id} = ${mails.profileId}), '')`;

/** A next try that is further away than any pause was set by a clock that was ahead. */
function isDue(nowMs: number): SQL | undefined {
  return or(lte(mails.nextTryAt, nowMs), gt(mails.nextTryAt, nowMs + LONGEST_PAUSE_MS));
}

/** The next mail to send, except to these recipients: of all that are due, or of the untried ones of a command. */
function nextMail(db: Db, deps: Pick<Deps, 'clock' | 'config'>, only: readonly number[] | null, busy: string[] = []) {
  const { mail, adminWebhook } = deps.config;
  return (
    db
      .select({
        id: mails.id,
        identifier: mails.identifier,
        profileId: mails.profileId,
        kind: mails.kind,
        to: RECIPIENT,
        subject: mails.subject,
        body: mails.body,
        tries: mails.tries,
      })
      .from(mails)
      .where(
        and(
          IS_WAITING,
          only === null ? isDue(deps.clock.nowMs()) : and(inArray(mails.id, [...only]), eq(mails.tries, 0)),
          notInArray(RECIPIENT, busy),
          mail === null ? eq(mails.to, WEBHOOK) : undefined,
          adminWebhook === null ? sql`${mails.to} IS NOT ${WEBHOOK}` : undefined,
        ),
      )
      // Mails about changed addresses come last, since one import may change very many.
      .orderBy(sql`(${mails.kind} = 'changed-address')`, asc(mails.nextTryAt), asc(mails.id))
      .limit(1)
      .get()
  );
}

type Waiting = NonNullable<ReturnType<typeof nextMail>>;

/** How mails are sent, on a writable connection. */
type Sending = { deps: Pick<Deps, 'db' | 'clock' | 'config'>; mailer: Mailer | null; report: Report };

/**
 * Sends the mails with these ids, or all that are due, one at a time to each of up to five recipients, and begins none once
 * `isStopping`. Throws what prevents it from reading or storing.
 */
async function sendAll(sending: Sending, only: readonly number[] | null, isStopping: () => boolean): Promise<void> {
  const open = new Map<string, Promise<void>>();
  try {
    for (;;) {
      const isFull = open.size >= MAX_RECIPIENTS || isStopping();
      const next = isFull ? undefined : nextMail(sending.deps.db, sending.deps, only, [...open.keys()]);
      if (next !== undefined)
        open.set(
          next.to,
          sendOne(sending, next).finally(() => open.delete(next.to)),
        );
      else if (open.size > 0) await Promise.race(open.values());
      else return;
    }
  } finally {
    await Promise.allSettled(open.values());
  }
}

/** Counts the try before it begins: whatever then can't be stored, a mail is not sent again at once. */
async function sendOne(sending: Sending, mail: Waiting): Promise<void> {
  const { $client: sqlite } = sending.deps.db;
  const untilMs = () => systemClock.monotonicMs() + LOCK_MS;
  const begun = await whenFree(sqlite, () => begin(sending, mail), untilMs());
  if (begun === undefined) return;
  const delivery = await deliver(sending, { ...mail, ...begun });
  await whenFree(sqlite, () => settle(sending, mail, delivery), untilMs());
}

/**
 * Returns where the mail goes; undefined if it is no longer to be sent. Whoever had the lock may have erased its profile, changed
 * the address, or sent it.
 */
function begin({ deps: { db, clock } }: Sending, { id, tries }: Waiting): { to: string } | undefined {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS);
  return db
    .update(mails)
    .set({ tries: tries + 1, nextTryAt: clock.nowMs() + pauseMs })
    .where(and(eq(mails.id, id), eq(mails.tries, tries), IS_WAITING))
    .returning({ to: RECIPIENT })
    .get();
}

async function deliver({ deps, mailer }: Sending, mail: Waiting): Promise<Delivery> {
  const { to, kind, identifier, subject, body } = mail;
  const { adminWebhook } = deps.config;
  if (to === WEBHOOK && adminWebhook !== null) return await postToWebhook(adminWebhook, body, TIMEOUT_MS);
  if (to === '' || mailer === null) return { outcome: 'unknown', reason: 'The profile has no e-mail address.' };
  const composed = { kind, identifier: identifier ?? '', to, subject, text: body };
  return await mailer.send(composed, { timeoutMs: TIMEOUT_MS });
}

/** Stores a result. */
function settle({ deps, report }: Sending, mail: Waiting, delivery: Delivery): void {
  const what = `The ${mail.kind} mail about ${subjectInWords(mail)}`;
  const isRefused = delivery.outcome === 'refused' && delivery.permanent && delivery.about === 'mail';
  const fault = delivery.outcome === 'accepted' ? null : delivery.reason;
  const result = fault === null ? 'accepted' : isRefused ? 'refused' : 'waiting';
  const kept = result === 'waiting' ? {} : EMPTIED;
  deps.db
    .update(mails)
    .set({ result, fault, ...kept })
    .where(eq(mails.id, mail.id))
    .run();
  if (result === 'accepted') report('info', `${what} was sent.`);
  else if (result === 'waiting') report('warn', `${what} has not been delivered yet. ${fault}`);
  else report('warn', `${what} was not delivered and is not sent again. ${fault}`);
}

/** An ended mail keeps neither its text nor a former address. */
const EMPTIED = {
  subject: '',
  body: '',
  to: sql`CASE ${mails.kind} WHEN 'changed-address' THEN '' ELSE ${mails.to} END`,
};

/**
 * Sends the mails that a command stored. Returns a sentence if one is not delivered yet. Throws no refusal: the command
 * has done its work, and the server retries.
 */
export async function sendStored(deps: Deps, ids: readonly number[]): Promise<string | null> {
  if (ids.length === 0) return null;
  const { db, clock } = deps;
  const isStored = inArray(mails.id, [...ids]);
  const untilMs = clock.monotonicMs() + COMMAND_MS;
  try {
    const mailer = await deps.mailer();
    if (mailer === null) {
      write(db, (tx) => tx.update(mails).set({ nextTryAt: clock.nowMs() }).where(isStored).run());
      return 'The mail has not been sent yet, because MAIL_URL is not set here. A running server with MAIL_URL sends it.';
    }
    await sendAll({ deps, mailer, report: () => undefined }, ids, () => clock.monotonicMs() > untilMs);
    const isLate = and(isStored, ne(mails.result, 'accepted'), sql`${mails.to} IS NOT ${WEBHOOK}`);
    const late = db.select().from(mails).where(isLate).get();
    if (late === undefined) return null;
    if (late.result !== 'waiting') return `The mail was not delivered. ${late.fault}`;
    return `The mail has not been delivered yet. ${late.fault ?? 'It follows another one.'} ${RETRIED}`;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `The mail may not have been sent yet. ${error.message} ${RETRIED}`;
  }
}

const RETRIED = 'A running server retries for three days.';

/** Whether any mail is due. */
export function isMailDue(deps: Pick<Deps, 'db' | 'clock' | 'config'>): boolean {
  return nextMail(deps.db, deps, null) !== undefined;
}

/** Sends the mails that are due. Throws `refused` if the database can't be written; unsent mails stay due. */
export async function sendDueMails(deps: Deps, report: Report, isStopping = () => false): Promise<void> {
  await sendAll({ deps, mailer: await deps.mailer(), report }, null, isStopping);
}

/** How many mails one step drops or deletes at most: an import may have changed every address on the same day. */
const MAX_PER_STEP = 2_000;

/**
 * Drops some of what could not be sent for three days, and deletes some of what ended long ago. Returns whether more may be left.
 * The server does so every hour.
 */
export function dropOldMails(db: Db, nowMs: number, report: Report): boolean {
  const some = (which: SQL | undefined) =>
    inArray(mails.id, db.select({ id: mails.id }).from(mails).where(which).limit(MAX_PER_STEP));
  const { deleted, dropped } = write(db, (tx) => ({
    deleted: tx
      .delete(mails)
      .where(and(ne(mails.result, 'waiting'), some(lt(mails.at, nowMs - KEPT_MS))))
      .returning({ id: mails.id })
      .all(),
    dropped: tx
      .update(mails)
      .set({ result: 'dropped', fault: 'It could not be delivered for three days.', ...EMPTIED })
      .where(some(and(IS_WAITING, lte(mails.at, nowMs - MAX_AGE_MS))))
      .returning({ identifier: mails.identifier, profileId: mails.profileId, kind: mails.kind })
      .all(),
  }));
  for (const mail of dropped) {
    report('warn', `The ${mail.kind} mail about ${subjectInWords(mail)} was not delivered for three days.`);
  }
  return Math.max(deleted.length, dropped.length) === MAX_PER_STEP;
}

/** The subject of a mail in words: a key, a profile, or an admin. */
function subjectInWords({ identifier, profileId }: { identifier: string | null; profileId: number | null }): string {
  if (identifier !== null) return `key ${identifier}`;
  return profileId === null ? 'an admin' : `profile ${profileId}`;
}

/** Undelivered mails and posts: how many are waiting, since when, and which were given up within 30 days. */
export type MailStatus = {
  waiting: number;
  oldestAt: string | null;
  undelivered: {
    identifier: string | null;
    uid: number | null;
    kind: string;
    /** `owner`, `former address`, `ADMIN_EMAIL` or `webhook`. */
    to: string;
    at: string;
    tries: number;
    result: string;
    reason: string | null;
  }[];
};

/** Reads {@link MailStatus}. */
export function readMailStatus(db: Db, nowMs: number): MailStatus {
  // As the condition of the index `mails_undelivered` says it: many more have been delivered.
  const which = sql`${mails.result} <> 'accepted' AND (${IS_WAITING} OR ${mails.at} >= ${nowMs - KEPT_MS})`;
  const rows = db.select().from(mails).where(which).orderBy(asc(mails.id)).all();
  const waiting = rows.filter(({ result }) => result === 'waiting');
  return {
    waiting: waiting.length,
    oldestAt: waiting[0] === undefined ? null : isoTime(waiting[0].at),
    undelivered: rows.map(({ identifier, profileId, kind, to, at, tries, result, fault }) => ({
      identifier,
      uid: profileId,
      kind,
      to: recipientInWords(kind, to),
      at: isoTime(at),
      tries,
      result,
      reason: fault,
    })),
  };
}

function recipientInWords(kind: string, to: string | null): string {
  if (to === null || to === WEBHOOK) return to ?? 'owner';
  return kind === 'changed-address' ? 'former address' : 'ADMIN_EMAIL';
}

/** Warnings about undelivered mails and posts. */
export function mailWarnings({ undelivered }: MailStatus): string[] {
  const late = undelivered.filter(({ to }) => to !== WEBHOOK).length;
  return [
    ...(late === 0 ? [] : [`${late === 1 ? '1 mail is' : `${late} mails are`} undelivered.`]),
    ...(late === undelivered.length ? [] : ['Some messages to the webhook in ADMIN_WEBHOOK_URL were not delivered.']),
  ];
}

/** How many mails there are by result, for the metrics. */
export function countMails(db: Db) {
  const { result: name, to } = mails;
  return db.select({ name, count: count() }).from(mails).where(sql`${to} IS NOT ${WEBHOOK}`).groupBy(name).all();
}
