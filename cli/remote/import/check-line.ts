import { type Refusal, sumOfHeld } from '../../../shared/profiles/edit/refusal.ts';
import { rawOf, readLine } from '../../../shared/profiles/import/import-run.ts';
import type { SplitLine } from '../../../shared/profiles/import/split.ts';

/** A line that has passed the local checks. */
export type CheckedLine = {
  /** Its number in the file, from 1. */
  number: number;
  /** The id of its profile. */
  id: number;
  isDeletion: boolean;
  /** Whether it sets the username or the aliases. */
  setsNames: boolean;
  /** As in the file. */
  text: string;
  /** As it is sent. */
  body: string;
  bytes: number;
};

/** A line that was refused permanently, and why. */
export type RejectedLine = { number: number; id: number | null; raw: string | Uint8Array | null; refusal: Refusal };

/** Counts a line, and checks it by the rules that need no database. */
export function checkLine(run: Parameters<typeof readLine>[0], line: SplitLine): CheckedLine | RejectedLine {
  const parsed = readLine(run, line);
  if (!('reason' in parsed) && 'text' in line) {
    const { text, bytes } = line;
    const { id, deleted: isDeletion, username, aliases } = parsed;
    const setsNames = username !== undefined || aliases !== undefined;
    return { number: line.number, id, isDeletion, setsNames, text, body: text, bytes };
  }
  return { number: line.number, id: parsed.id, raw: rawOf(line), refusal: parsed as Refusal };
}

/** A checked line that the server refused, with its field if known and its reason. */
export function rejectedLine(
  { number, id, text }: CheckedLine,
  { field, reason }: Pick<Refusal, 'field' | 'reason'>,
): RejectedLine {
  return { number, id, raw: text, refusal: { field, reason, sum: sumOfHeld(reason) ?? reason } };
}
