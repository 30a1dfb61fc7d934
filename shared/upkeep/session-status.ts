import { existsSync } from 'node:fs';
import { AppError } from '../errors.ts';
import { closeSessionsFile, fileKey, openSessionsFile } from '../sessions-file/sessions-file.ts';
import { sessionsPath } from '../sessions-file/sessions-path.ts';
import { countSent, MAIL_LIMITS } from '../sign-in/mail-limits.ts';
import { countSignIns } from '../sign-ins/sign-ins.ts';

/** Sign-ins to the Developer Platform: the number of live sessions and of recent sign-in mails. */
export type SessionStatus = {
  path: string;
  sessions: number;
  mailsLastHour: number;
  mailsPerHour: number;
};

/** Reads the status; null if nobody has ever signed in, or, with a `fault`, if the file can't be read. */
export function readSessionStatus(
  databasePath: string,
  nowMs: number,
): { status: SessionStatus | null; fault: string | null } {
  const path = sessionsPath(databasePath);
  if (!existsSync(path)) return { status: null, fault: null };
  try {
    const file = openSessionsFile(databasePath);
    try {
      const mailsLastHour = countSent(file.db, fileKey(file), nowMs);
      const mailsPerHour = MAIL_LIMITS.sent[0].max;
      return {
        status: { path, sessions: countSignIns(file, nowMs), mailsLastHour, mailsPerHour },
        fault: null,
      };
    } finally {
      closeSessionsFile(file);
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { status: null, fault: error.message };
  }
}

/** Warnings about an unreadable file and a reached limit. */
export function sessionWarnings({ status, fault }: ReturnType<typeof readSessionStatus>): string[] {
  if (fault !== null) return [fault];
  if (status === null || status.mailsLastHour < status.mailsPerHour) return [];
  return [
    `${status.mailsLastHour} sign-in mails were sent in the last hour, which is the limit: owners can sign in only with browsers they have used before, until the hour is over. Somebody may be requesting mails for others.`,
  ];
}
