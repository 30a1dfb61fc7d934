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
  /** Mails actually sent in the last hour, and the hourly limit. */
  mailsLastHour: number;
  mailsPerHour: number;
};

/** Reads the status; it is null if nobody has ever signed in, or if the file can't be read, as `fault` says. */
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
        status: { path, sessions: countSignIns(file, 'browser', nowMs), mailsLastHour, mailsPerHour },
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

/** Warnings about an unreadable file and a limit that is reached. */
export function sessionWarnings({ status, fault }: ReturnType<typeof readSessionStatus>): string[] {
  if (fault !== null) return [fault];
  if (status === null || status.mailsLastHour < status.mailsPerHour) return [];
  return [
    `${status.mailsLastHour} sign-in mails were sent in the last hour, which is the most: no owner can sign in until that is over. Somebody may be asking for others.`,
  ];
}
