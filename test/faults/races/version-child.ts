import { keysContext, namedProfile } from '../../../cli/keys/context.ts';
import { createDeps } from '../../../shared/deps.ts';
import { eraseProfile } from '../../../shared/erasure/erase-profile.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { findProfile } from '../../../shared/profiles/find.ts';
import { profileRevision } from '../../../shared/profiles/profile-version.ts';
import { DESCRIPTION } from '../../support/keys.ts';
import { changeByHand, importLines } from '../../support/profiles.ts';
import { testConfig } from '../../support/world.ts';

// Run by version-races.test.ts and decisions-at-once.test.ts. Acts like a command on a terminal: reads a command,
// prints what it shows, waits for a line as the confirmation, acts, and prints how that ended.

const DATABASE_PATH = process.argv[2] ?? '';
const config = testConfig({ DATABASE_PATH, MAIL_URL: `file:${DATABASE_PATH}.mail` });
const deps = createDeps(openDatabase(DATABASE_PATH, 'use'), config);
const operator = { kind: 'operator', name: 'ada' } as const;
const keys = keysContext({ json: false, yes: true }, deps, operator);

/** What is shown before the confirmation, and the action after it. */
type Asked = { shown: string; act: () => unknown };

const COMMANDS: Record<string, (about: string) => Promise<Asked>> = {
  approve: async (identifier) => {
    const perform = keys.performUnlessChanged({ identifier });
    const { key } = await perform(OPERATIONS.show, { identifier });
    const alsoConfirmed = OPERATIONS.approve.check(deps, key);
    const shown = alsoConfirmed.map(([, value]) => value).join();
    return { shown, act: () => perform(OPERATIONS.approve, { identifier }) };
  },
  // Changes the expiry, and keeps the rest with Enter.
  change: async (identifier) => {
    const perform = keys.performUnlessChanged({ identifier });
    const { key } = await perform(OPERATIONS.show, { identifier });
    const { rateLimits } = key;
    const change = { expiresAtMs: Date.parse('2126-01-31') };
    return { shown: JSON.stringify(rateLimits), act: () => perform(OPERATIONS.change, { identifier, ...change }) };
  },
  request: async (profile) => {
    const found = namedProfile(deps, { profile });
    const perform = keys.performUnlessChanged(found);
    const permissions = ['api.lookup' as const];
    const input = { ...found, name: 'Bot', description: DESCRIPTION, permissions };
    return { shown: `${found.profileId}`, act: () => perform(OPERATIONS.request, input) };
  },
  erase: async (name) => {
    const { id } = findProfile(deps.db, name);
    const shown = profileRevision(deps.db, id);
    return { shown: `${id}`, act: () => eraseProfile(deps, id, { ...operator, shown }) };
  },
  withdraw: async (identifier) => {
    const perform = keys.performUnlessChanged({ identifier });
    return { shown: identifier, act: () => perform(OPERATIONS.withdraw, { identifier }) };
  },
  suspend: async (identifier) => {
    const perform = keys.performUnlessChanged({ identifier });
    return { shown: identifier, act: () => perform(OPERATIONS.suspend, { identifier, reason: 'Too fast.' }) };
  },
  // With --yes, when the state is the one read at the start.
  'suspend-now': async (identifier) => ({
    shown: identifier,
    act: () => keys.performUnlessChanged({ identifier })(OPERATIONS.suspend, { identifier, reason: 'Too fast.' }),
  }),
  ban: async (name) => ({ shown: name, act: () => changeByHand(deps, name, { banned: true }) }),
  address: async (about) => {
    const [name = '', email = ''] = about.split(' ');
    return { shown: name, act: () => changeByHand(deps, name, { email }) };
  },
  import: async (line) => ({ shown: line, act: () => importOne(line) }),
};

async function importOne(line: string) {
  const { imported, deleted } = await importLines(deps, [line], { merge: true });
  if (imported + deleted === 0) throw new AppError('refused', 'The line is refused.');
}

async function endOf(act: Asked['act']): Promise<string> {
  try {
    await act();
    return 'done';
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

process.stdout.write('ready\n');
let asked: Asked | null = null;
for await (const line of console) {
  const [verb = '', about = ''] = line.split(/ (.*)/);
  const end: string = asked === null ? '' : await endOf(asked.act);
  asked = asked === null ? ((await COMMANDS[verb]?.(about)) ?? null) : null;
  process.stdout.write(`${asked === null ? end : asked.shown}\n`);
}
