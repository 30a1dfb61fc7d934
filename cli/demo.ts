import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { isBinary } from '../shared/binary.ts';
import { readConfig } from '../shared/config/config.ts';
import type { Deps } from '../shared/deps.ts';
import { operatorOf } from './context.ts';
import { print } from './output.ts';

const PORT = 3000;
const PROFILE = 'Ada';

/** Adds `demo`, which runs a server with sample profiles in a temporary folder and deletes the folder at the end. */
export function addTo(command: Command): void {
  command
    .addHelpText(
      'after',
      '\nTouches no real data: everything lies in a temporary folder that is removed at the end.\n\nExample:\n  profilectl demo',
    )
    .action(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-demo-'));
      try {
        await runDemo(folder);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
}

async function runDemo(folder: string): Promise<void> {
  const { openDatabase } = await import('../shared/db/open.ts');
  const { withTables } = await import('../shared/db/tables.ts');
  const { createDeps } = await import('../shared/deps.ts');
  const { serve } = await import('../server/main.ts');
  const config = readConfig({
    DATABASE_PATH: join(folder, 'profiles.db'),
    MAIL_URL: `file:${join(folder, 'mail')}`,
    PORT: String(freePort()),
    LOG_LEVEL: 'warn',
  });
  const db = openDatabase(config.databasePath, 'serve');
  try {
    const deps = createDeps(withTables(db), config);
    const imported = await importSample(deps);
    const identifier = await issueKey(deps);
    // The demo has no certificate to read again at SIGHUP. A closed terminal ends it, so that its folder is deleted.
    process.once('SIGHUP', () => process.emit('SIGTERM', 'SIGTERM'));
    await serve(deps, {}, () => explain(deps, folder, imported, identifier));
  } finally {
    db.$client.close();
  }
}

async function importSample(deps: Deps): Promise<number> {
  const { effectsOnKeys } = await import('../shared/erasure/erase-profile.ts');
  const { importProfiles } = await import('../shared/profiles/write/import.ts');
  const { default: sample } = await import('../shared/sample/profiles.jsonl', { with: { type: 'text' } });
  const by = operatorOf(deps.config);
  const { imported } = await importProfiles(deps, [Buffer.from(sample)], {
    merge: false,
    strict: true,
    by,
    onKeys: effectsOnKeys(by),
  });
  return imported;
}

/** Requests a key and approves it with the operations that `keys request` and `keys approve` also use. */
async function issueKey(deps: Deps): Promise<string> {
  const { OPERATIONS, perform } = await import('../shared/operations.ts');
  const actor = operatorOf(deps.config);
  const { identifier } = await perform(deps, actor, OPERATIONS.request, {
    profile: PROFILE,
    name: 'Demo key',
    description: 'Made by "profilectl demo" so that a newcomer can try every endpoint with one key, right away.',
    permissions: ['api.lookup', 'api.leaderboard'],
  });
  await perform(deps, actor, OPERATIONS.approve, { identifier });
  return identifier;
}

function explain({ config }: Deps, folder: string, imported: number, identifier: string): void {
  const mail = join(folder, 'mail', `*-approval-${identifier}.eml`);
  print(`
Profile Lookup is running on ${config.publicUrl} with ${imported} sample profiles.
Key ${identifier} was requested for the profile ${PROFILE} and approved; its secret went out by mail, once:
  ${mail}

In another terminal, this reads the secret out of the mail and looks someone up:
  curl -sS -H "Authorization: Bearer $(grep -ohm1 'plk_${identifier}_[0-9A-Za-z]*' ${mail})" ${config.publicUrl}/api/lookup/username/${PROFILE}

More to try, in the place of the address in that line:
  "${config.publicUrl}/api/lookup/username/lovelace" (an alias)
  "${config.publicUrl}/api/lookup/uid/7/links"
  "${config.publicUrl}/api/leaderboard?limit=5"
  "${config.publicUrl}/api/key"

Or look inside:
  ${invocation()} --db ${shellWord(config.databasePath)} keys list

Ctrl-C stops it and removes ${folder}.`);
}

/** The words with which a shell runs this program again from any folder. */
function invocation(): string {
  return isBinary() ? shellWord(process.execPath) : `npx -y bun@${Bun.version} ${shellWord(Bun.main)}`;
}

/** Quotes a text so that a shell reads it as one word. */
function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns 3000, or a free port if 3000 is taken. */
function freePort(): number {
  for (const port of [PORT, 0]) {
    try {
      const probe = Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } });
      probe.stop(true);
      return probe.port;
    } catch {
      // The port is taken, so the next one is tried.
    }
  }
  return PORT;
}
