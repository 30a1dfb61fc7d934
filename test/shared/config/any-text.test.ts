import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { readConfig, surveyConfig, VARIABLES } from '../../../shared/config/config.ts';
import { AppError } from '../../../shared/errors.ts';
import { ANY_CHARACTER, rounds } from '../../support/rounds.ts';
import { tempFolder } from '../../support/world.ts';

const NAMES = Object.keys(VARIABLES);
// A sixteenth by default.
const ROUNDS = { numRuns: rounds(500) };

/** Part of all secret values here; no sentence may contain it. */
const SECRET = 'hunter2hunter2';

/** Parts of valid values, so that many texts are nearly valid. */
const PARTS = [
  ...['on', 'off', '0', '1', '64', '65535', '1e3', '-', '.', ',', ' ', '/', ':', '@', '%', '%zz', '?', '#', '[', ']'],
  ...['smtp://', 'smtps://', 'file:', 'http://', 'https://', 'mailto:', 'localhost', '127.0.0.1', '0.0.0.0', '::1'],
  ...['example.org', 'a@example.org', '/api', '10.0.0.0/8', '60/1m', '5000/1d', 'debug', 'data/profiles.db'],
  ...['\0', '\n', '\u001b[2J', '\uFFFD', '\uD800', 'x'.repeat(5_000), '/etc/passwd/', '/dev/null', '__proto__'],
];

const text = fc
  .array(fc.oneof(fc.constantFrom(...PARTS), fc.string({ unit: ANY_CHARACTER, maxLength: 8 })), { maxLength: 6 })
  .map((parts) => parts.join(''));

/** The refusal thrown by `act`, or null. */
function refusalOf(act: () => unknown): AppError | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

test('any strings in all variables cause at most one error each, and the first is thrown', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...NAMES), text), (source) => {
      const { faults } = surveyConfig(source);
      expect([...faults.keys()]).toEqual(NAMES.filter((name) => faults.has(name)));
      for (const [name, message] of faults) expect(message).toMatch(new RegExp(`^${name} \\S+ \\S[^]*\\.$`));
      const [first] = faults.values();
      expect(refusalOf(() => readConfig(source))?.message).toBe(first);
    }),
    ROUNDS,
  );
});

test('no sentence contains a secret, whether from a variable or a file', () => {
  const file = join(tempFolder(), 'secret');
  const secrets = NAMES.filter((name) => VARIABLES[name]?.mask !== undefined);
  expect(secrets).toEqual(['MAIL_URL', 'ADMIN_WEBHOOK_URL', 'METRICS_TOKEN']);
  fc.assert(
    fc.property(fc.constantFrom(...secrets), text, text, fc.boolean(), (name, before, after, isInFile) => {
      const value = before + SECRET + after;
      if (isInFile) writeFileSync(file, value);
      const source = isInFile ? { [`${name}_FILE`]: file } : { [name]: value };
      expect(refusalOf(() => readConfig(source))?.message ?? '').not.toContain(SECRET);
    }),
    { numRuns: rounds(125) },
  );
});
