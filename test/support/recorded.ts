import { afterAll, expect } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Db } from '../../shared/db/connect.ts';

// What commands print and pages show is recorded in text files. `UPDATE=1 bun test <file>` records again; read the difference.

/** Whether to record instead of comparing. */
export const IS_RECORDING = process.env.UPDATE !== undefined;

/**
 * Returns a function that compares a text with the section of a recorded file that has this title. When the test file is done,
 * a recording has replaced the whole file.
 */
export function recordingIn(path: string): (title: string, text: string) => void {
  const before = existsSync(path) ? readFileSync(path, 'utf8').split(/^=== /m).slice(1) : [];
  const sections = new Map(before.map((section) => section.trimEnd().split(/ ===\n(.*)/s, 2) as [string, string]));
  const now = new Map<string, string>();
  if (IS_RECORDING) {
    afterAll(() => writeFileSync(path, [...now].map(([title, text]) => `=== ${title} ===\n${text}\n`).join('\n')));
  }
  return (title, text) => {
    // Two sections with one title would be compared with the same text.
    if (now.has(title)) throw new Error(`“${title}” is recorded twice.`);
    now.set(title, text);
    if (!IS_RECORDING) expect(text).toBe(sections.get(title) ?? `nothing is recorded for “${title}”`);
  };
}

const IDENTIFIERS = 'SELECT identifier FROM api_keys UNION ALL SELECT identifier FROM backend_tokens';

/** Gives the identifiers in a database names as wide as they are, such as `<id-001>`, in the order in which texts have them. */
export function namesOfIdentifiers(db: Db) {
  const names = new Map<string, string>();
  return {
    hide: (text: string) => {
      const all = db.$client.query(IDENTIFIERS).values().join('|');
      for (const [found] of all === '' ? [] : text.matchAll(RegExp(all, 'g'))) {
        if (!names.has(found)) names.set(found, `<id-${`${names.size + 1}`.padStart(3, '0')}>`);
      }
      return [...names].reduce((hidden, [real, name]) => hidden.replaceAll(real, name), text);
    },
    reveal: (text: string) => [...names].reduce((shown, [real, name]) => shown.replaceAll(name, real), text),
  };
}
