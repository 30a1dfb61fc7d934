import type { Db } from '../../shared/db/connect.ts';

// What commands print and pages show is recorded in text files. `UPDATE=1 bun test <file>` records again; read the difference.

/** Whether to record instead of comparing. */
export const IS_RECORDING = process.env.UPDATE === '1';

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
