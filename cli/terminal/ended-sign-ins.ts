import type { EndedSignIns } from '../../shared/sign-ins/sign-ins.ts';
import { counted } from './output.ts';

/** The number of ended sessions and logins in words: `2 sessions and 1 profilectl login`. */
export function endedText({ sessions, logins }: EndedSignIns): string {
  return `${counted(sessions, 'session')} and ${counted(logins, 'profilectl login')}`;
}

/** These counts as members of a JSON object; null if unknown. */
export function endedNumbers(ended: EndedSignIns | null): object {
  return { endedSessions: ended?.sessions ?? null, endedLogins: ended?.logins ?? null };
}
