import type { Db } from '../../shared/db/connect.ts';

/** Inserts a pending request of a profile with this identifier; its other columns are copied from a stored key. */
export function insertKeyAs(db: Db, identifier: string, profileId: number, template: string): void {
  db.$client.run(
    `INSERT INTO api_keys (identifier, profile_id, name, description, state, requested_permissions, requested_at)
       SELECT ?, ?, name, description, 'pending', requested_permissions, requested_at FROM api_keys WHERE identifier = ?`,
    [identifier, profileId, template],
  );
}

/** Copies an Active key with its history for another profile, with another secret, which nobody knows. */
export function copyKey(db: Db, template: string, identifier: string, profileId: number): void {
  insertKeyAs(db, identifier, profileId, template);
  const granted = 'state, permissions, rate_limits, decided_at, expires_at, attempt_number';
  db.$client.run(
    `UPDATE api_keys SET (${granted}, secret_hash) =
       (SELECT ${granted}, randomblob(32) FROM api_keys WHERE identifier = ?) WHERE identifier = ?`,
    [template, identifier],
  );
  for (const [table, id, columns] of [
    [
      'key_attempts',
      'identifier',
      'number, by, by_kind, started_at, lease_ends_at, address, permissions, rate_limits, result',
    ],
    ['events', 'about', 'at, by, by_kind, subject, event, data'],
  ]) {
    db.$client.run(`INSERT INTO ${table} (${id}, ${columns}) SELECT ?, ${columns} FROM ${table} WHERE ${id} = ?`, [
      identifier,
      template,
    ]);
  }
}

/** The identifier with the case of each letter swapped, which must not find the key. */
export function otherCase(identifier: string): string {
  return identifier.replace(/[A-Za-z]/g, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

/** The sentence for an identifier that no key has. */
export const UNKNOWN_KEY = 'There is no key with this identifier.';

/** The sentence for an identifier that differs only in case from this key's, which the person may see. */
export function unknownButAlike(identifier: string): string {
  return `There is no key with this identifier, but ${identifier} differs from it only in letter case.`;
}
