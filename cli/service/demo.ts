import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { addAdmin } from '../../shared/admins.ts';
import { readConfig } from '../../shared/config/config.ts';
import { createDeps, type Deps } from '../../shared/deps.ts';
import { fileRefusal } from '../../shared/errors.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { OPERATIONS, perform, performWhole } from '../../shared/operations.ts';
import { importProfiles } from '../../shared/profiles/import/import.ts';
import sample from '../../shared/sample/profiles.jsonl' with { type: 'text' };
import type { Invitation } from '../../shared/sign-in/passkeys.ts';
import { shellWord } from '../../shared/text.ts';
import { operatorOf } from '../context.ts';
import { print } from '../terminal/output.ts';
import { isBinary, vacuumCommand } from './own-program.ts';

const PORT = 3000;
const PROFILE = 'Ada';
/** Its e-mail address in the sample profiles. */
const PROFILE_ADDRESS = 'ada@example.org';
const ADMIN = 'Grace';

/** Adds `demo`, which runs a server with sample profiles in a temporary folder, and removes the folder at the end. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('Try it out: a server with sample profiles and an approved key.')
    .addHelpText(
      'after',
      '\nEverything is in a temporary folder, which is removed at the end.\n\nExample:\n  profilectl demo',
    )
    .action(async () => {
      const folder = makeFolder();
      try {
        await runDemo(folder);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'profile-lookup-demo-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw fileRefusal(
      `No folder can be made in ${tmpdir()} (${code}); set TMPDIR to a folder that you may write to.`,
      error,
    );
  }
}

async function runDemo(folder: string): Promise<void> {
  const { onIpv4, onIpv6 } = takePort();
  const port = String(onIpv4.port);
  const config = readConfig({
    DATABASE_PATH: join(folder, 'profiles.db'),
    MAIL_URL: `file:${join(folder, 'mail')}`,
    PORT: port,
    // Browsers create passkeys for localhost, but not for IP addresses.
    PUBLIC_URL: `http://localhost:${port}`,
    LOG_LEVEL: 'warn',
  });
  const db = openDatabase(config.databasePath, 'serve');
  using _ = db.$client;
  const deps = createDeps(db, config);
  const imported = await importSample(deps);
  const identifier = await issueKey(deps);
  const invitation = await inviteAdmin(deps);
  // Servers ignore SIGHUP. The demo ends with its terminal, so that its folder is removed.
  process.once('SIGHUP', () => process.emit('SIGTERM', 'SIGTERM'));
  onIpv4.stop(true);
  const { serve } = await import('../../server/main.ts');
  await serve(deps, vacuumCommand(config.databasePath), () => {
    // Until the server listens, this address keeps another demo from taking the port.
    onIpv6?.stop(true);
    explain(deps, folder, imported, identifier, invitation);
  });
}

async function importSample(deps: Deps): Promise<number> {
  const { imported } = await importProfiles(deps, [Buffer.from(sample)], {
    merge: false,
    strict: true,
    by: operatorOf(deps.config),
    config: deps.config,
  });
  return imported;
}

/** Requests and approves a key, with the same operations as `keys request` and `keys approve`. */
async function issueKey(deps: Deps): Promise<string> {
  const actor = operatorOf(deps.config);
  const { identifier } = await perform(deps, actor, OPERATIONS.request, {
    profile: PROFILE,
    name: 'Demo key',
    description: 'Created by "profilectl demo", so that you can try every endpoint right away with one key.',
    permissions: ['api.lookup', 'api.leaderboard'],
  });
  await performWhole(deps, actor, OPERATIONS.approve, { identifier });
  return identifier;
}

/** Adds an admin, and returns the link to register a passkey. */
async function inviteAdmin(deps: Deps): Promise<Invitation> {
  return addAdmin(deps, ADMIN, operatorOf(deps.config));
}

function explain(
  { config }: Deps,
  folder: string,
  imported: number,
  identifier: string,
  { address, expiresAt }: Invitation,
): void {
  const mails = join(folder, 'mail');
  const mail = join(mails, `*-approval-${identifier}.eml`);
  const onBox = `${invocation()} --db ${shellWord(config.databasePath)}`;
  print(`
Profile Lookup is running on ${config.publicUrl} with ${imported} sample profiles.
Key ${identifier} was requested for the profile ${PROFILE} and approved; its secret was mailed, once:
  ${mail}

In another terminal, this reads the secret from the mail and looks up a profile:
  curl -sS -H "Authorization: Bearer $(grep -ohm1 'plk_${identifier}_[0-9A-Za-z]*' ${mail})" ${config.publicUrl}/api/lookup/username/${PROFILE}

Other URLs to try in that command:
  "${config.publicUrl}/api/lookup/username/lovelace" (an alias)
  "${config.publicUrl}/api/lookup/uid/7/links"
  "${config.publicUrl}/api/leaderboard?limit=5"
  "${config.publicUrl}/api/key"

In a browser, as the owner of ${PROFILE}: sign in with the username ${PROFILE} and the e-mail address ${PROFILE_ADDRESS} at
  ${config.publicUrl}/developers/sign-in
The code is mailed to the same folder; this shows the latest one:
  grep -ohm1 '^[0-9A-Z]\\{4\\}-[0-9A-Z]\\{4\\}$' "$(ls ${mails}/*Z-sign-in.eml | tail -n 1)"

In a browser, as an admin: register a passkey for ${ADMIN}, before ${expiresAt}, at
  ${address}
Then sign in at ${config.publicUrl}/developers/admin to decide on requests.

Or list the keys:
  ${onBox} keys list

Ctrl-C stops it and removes ${folder}.`);
}

/** The shell command that runs this program from any folder. */
function invocation(): string {
  return isBinary() ? shellWord(process.execPath) : `npx -y bun@${Bun.version} ${shellWord(Bun.main)}`;
}

/** Takes port 3000 on both addresses of localhost, or any free port if 3000 is taken on either. */
function takePort(): { onIpv4: Bun.TCPSocketListener; onIpv6: Bun.TCPSocketListener | null } {
  // Browsers may try the IPv6 address of localhost first, where another program may listen. Many machines have no IPv6.
  const onIpv6 = tryPort('::1', PORT);
  const onIpv4 = onIpv6 === 'EADDRINUSE' ? onIpv6 : tryPort('127.0.0.1', PORT);
  const kept = typeof onIpv6 === 'string' ? null : onIpv6;
  if (typeof onIpv4 !== 'string') return { onIpv4, onIpv6: kept };
  kept?.stop(true);
  return { onIpv4: Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } }), onIpv6: null };
}

/** Listens on a port. Returns the listener, or an error code. */
function tryPort(hostname: string, port: number): Bun.TCPSocketListener | string {
  try {
    return Bun.listen({ hostname, port, socket: { data() {} } });
  } catch (error) {
    return (error as { code?: string }).code ?? '';
  }
}
