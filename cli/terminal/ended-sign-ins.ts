import type { EndedSignIns } from '../../shared/sign-ins/sign-ins.ts';
import { counted } from './output.ts';

/** How many sessions and logins ended, in words: `2 sessions and 1 login of profilectl`. */
export function endedText({ sessions, logins }: EndedSignIns): string {
  return `${counted(sessions, 'session')} and ${counted(logins, 'login')} of profilectl`;
}

/** The same as members of a JSON object; null if not known. */
export function endedNumbers(ended: EndedSignIns | null): object {
  return { endedSessions: ended?.sessions ?? null, endedLogins: ended?.logins ?? null };
}
