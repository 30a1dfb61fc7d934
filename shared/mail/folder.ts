import { randomUUID } from 'node:crypto';
import { access, constants, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isoTime, systemClock } from '../clock.ts';
import { giveName } from '../give-name.ts';
import type { Delivery, Mail } from './mail.ts';

/**
 * Writes a message to `<folder>/<UTC time>-<kind>-<identifier>.eml`, mode 0600, without identifier if the mail is not about a
 * key. If the name exists, it uses a later millisecond. A missing folder is created with mode 0700. The file gets its name once
 * it is complete and flushed to disk. Never rejects: a failure is returned as `refused`.
 */
export async function writeToFolder(folder: string, mail: Mail, message: Buffer): Promise<Delivery> {
  const unfinished = join(folder, `.${randomUUID()}.unfinished`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeSynced(unfinished, message);
    let atMs = systemClock.nowMs();
    while (!giveName(unfinished, join(folder, nameOf(mail, atMs)))) atMs++;
    return { outcome: 'accepted' };
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    return refusal(folder, (error as NodeJS.ErrnoException).code ?? 'unknown');
  }
}

function nameOf({ kind, identifier }: Mail, atMs: number): string {
  const time = isoTime(atMs).replace(/[-:]/g, '');
  return `${[time, kind, identifier.replace(/[^0-9A-Za-z]/g, '')].filter(Boolean).join('-')}.eml`;
}

/** Checks that messages can be written to a folder, and creates it if missing. */
export async function checkFolder(folder: string): Promise<Delivery> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK | constants.X_OK);
    return { outcome: 'accepted' };
  } catch (error) {
    return refusal(folder, (error as NodeJS.ErrnoException).code ?? 'unknown');
  }
}

async function writeSynced(path: string, content: Buffer): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(content);
  await file.sync();
}

function refusal(folder: string, code: string): Delivery {
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const advice = isFull ? 'free some space there' : 'check that MAIL_URL names a folder that this user may write to';
  return {
    outcome: 'refused',
    permanent: !isFull,
    isServerDown: true,
    reason: `The mail could not be written to the folder ${folder} (${code}); ${advice}.`,
  };
}
