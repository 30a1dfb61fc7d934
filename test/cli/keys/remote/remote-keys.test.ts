import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Deps } from '../../../../shared/deps.ts';
import { showKey } from '../../../../shared/keys/view.ts';
import { DECISIONS } from '../../../../shared/operations.ts';
import { otherCase, unknownButAlike } from '../../../support/identifiers.ts';
import { importLines } from '../../../support/import.ts';
import { DESCRIPTION, issue, request } from '../../../support/keys.ts';
import { runCommand } from '../../../support/machine/command.ts';
import { confirming, type Decider, profilectlAt, REASON, remoteWorld } from '../../../support/portal/remote.ts';
import { drawHalf, seededRandom } from '../../../support/rounds.ts';
import { testDeps } from '../../../support/world.ts';

// Commands on keys on a remote server, compared with the same commands on a local database.

/** Each test runs about twenty processes. */
const LIMIT_MS = 120_000;

const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };

const { access, server, ownerToken } = await remoteWorld();

/** A local database with the same profile. */
async function box() {
  const deps = testDeps();
  await importLines(deps, [ADA]);
  const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };
  return { deps, run: (words: string[]) => runCommand(words, { variables }) };
}

/** The output without what may differ: identifiers become numbers; times, ages, actors and column widths are removed. */
function plain({ code, stdout, stderr }: Awaited<ReturnType<typeof runCommand>>, identifiers: string[]) {
  const clean = (text: string) =>
    identifiers
      .reduce((all, identifier, at) => all.replaceAll(identifier, `key${at}`), text)
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/\b\d+[smhd]( ago)?\b/g, 'AGE')
      .replace(/"by":"[^"]*"/g, '"by":"WHO"')
      .replace(/(owner|admin Grace|\S+ \(on the box\)|you|an admin|the operator) {2,}/g, 'WHO  ')
      .replace(/ by .*? at TIME/g, ' by WHO at TIME')
      .replace(/ +/g, ' ')
      .replace(/ +$/gm, '');
  const said = stderr.replace(/^On http:\S+:\n/gm, '').replace(/^To \w+ key .*\n/gm, '');
  return { code, stdout: clean(stdout), stderr: clean(said) };
}

/** The remote command for a local one of an admin: reasons are typed on the page, and decisions are confirmed there. */
function elsewhere(words: string[]): string[] {
  if (!DECISIONS.some(({ name }) => name === words[1])) return words;
  return [...words.filter((word) => word !== '--reason' && word !== REASON && word !== '--yes'), '--wait'];
}

type Words = (ids: readonly string[]) => string[];

/** A command and its exit code. `drawn` are those that try what another also tries under other conditions. */
type Step = [code: number, words: Words, isDrawn?: 'drawn'];

const chance = seededRandom('commands on a remote server');

/** A quarter of the `drawn` steps and all others, in their order. */
function drawSteps(steps: readonly Step[]): Step[] {
  const others = steps.filter(([, , isDrawn]) => isDrawn);
  const drawn = drawHalf(drawHalf(others, chance), chance);
  return steps.filter((step) => !others.includes(step) || drawn.includes(step));
}

/** Runs a script on a local database and on a remote server with the same keys; returns what each printed. */
async function both(
  { access, server }: Pick<Awaited<ReturnType<typeof remoteWorld>>, 'access' | 'server'>,
  steps: readonly Step[],
  prepare: (deps: Deps) => Promise<string[]>,
  token: string,
  decide?: Decider,
) {
  const { deps, run } = await box();
  const [hereIds, thereIds] = [await prepare(deps), await prepare(access)];
  const here = [];
  const there = [];
  for (const [code, words] of steps) {
    const asked = decide === undefined ? words(thereIds) : elsewhere(words(thereIds));
    const [one, other] = await Promise.all([run(words(hereIds)), profilectlAt(server, token, asked, decide)]);
    for (const [ids, done] of [
      [hereIds, one],
      [thereIds, other],
    ] as const) {
      const [, made] = /^([0-9A-Za-z]{8}) pending\n/.exec(done.stdout) ?? [];
      if (made !== undefined && !ids.includes(made)) ids.push(made);
    }
    expect([asked, other.code]).toEqual([asked, code]);
    here.push({ words: words(hereIds.map((_, at) => `key${at}`)), ...plain(one, hereIds) });
    there.push({ words: words(hereIds.map((_, at) => `key${at}`)), ...plain(other, thereIds) });
  }
  return { here, there };
}

const UNKNOWN = 'aaaaaaaa';

/** The words of a request for a key. */
const asking = (name: string, description: string) =>
  `keys request --profile ada --permission api.lookup --name`.split(' ').concat(name, '--description', description);

test(
  'an owner’s commands print and refuse the same, with the same exit codes, as on a local database',
  async () => {
    const fields = { profile: 'ada', projectUrl: 'https://example.org', description: `${DESCRIPTION}\nIn two lines.` };
    const own = await remoteWorld();
    const { here, there } = await both(
      own,
      drawSteps([
        [0, () => asking('Bot 2', DESCRIPTION)],
        [0, () => ['keys', 'list']],
        [0, () => ['keys', 'list', '--json', '--state', 'Pending', '--profile', 'ADA'], 'drawn'],
        [1, () => ['keys', 'list', '--profile', 'nobody'], 'drawn'],
        [0, (ids) => ['keys', 'show', ids[0] as string]],
        [0, (ids) => ['keys', 'show', ids[1] as string, '--json'], 'drawn'],
        [1, () => ['keys', 'show', UNKNOWN], 'drawn'],
        [1, () => ['keys', 'show', '..'], 'drawn'],
        [0, (ids) => ['keys', 'edit', ids[1] as string, '--name', 'Badge \u202ebot'], 'drawn'],
        [0, (ids) => ['keys', 'edit', ids[1] as string, '--name', 'Badge bot']],
        [0, (ids) => ['keys', 'usage', ids[0] as string, '--days', '3']],
        [0, (ids) => ['keys', 'usage', ids[0] as string, '--days', '3', '--json'], 'drawn'],
        [0, (ids) => ['keys', 'request', '--successor-of', ids[0] as string, '--yes']],
        [1, (ids) => ['keys', 'request', '--successor-of', ids[1] as string, '--yes'], 'drawn'],
        [0, (ids) => ['keys', 'withdraw', ids[1] as string]],
        [1, (ids) => ['keys', 'withdraw', ids[1] as string, '--json'], 'drawn'],
        [0, (ids) => ['keys', 'revoke', ids[0] as string, '--reason', 'It leaked.', '--json']],
        [1, (ids) => ['keys', 'revoke', ids[0] as string, '--reason', 'It leaked.'], 'drawn'],
      ]),
      async (deps) => [(await issue(deps, fields)).identifier],
      own.ownerToken,
    );
    expect(there).toEqual(here);
  },
  LIMIT_MS,
);

test(
  'an admin’s commands print and refuse the same as on a local database, once they are confirmed by passkey',
  async () => {
    const own = await remoteWorld();
    const { here, there } = await both(
      own,
      drawSteps([
        [0, () => ['keys', 'list', '--state', 'pending'], 'drawn'],
        [0, (ids) => ['keys', 'show', ids[0] as string], 'drawn'],
        [0, (ids) => ['keys', 'approve', ids[0] as string, '--rate-limit', '7/1m', '--expires', '2126-01-31', '--yes']],
        [1, (ids) => ['keys', 'approve', ids[0] as string, '--yes'], 'drawn'],
        [1, () => ['keys', 'approve', UNKNOWN, '--yes'], 'drawn'],
        [2, (ids) => ['keys', 'approve', ids[1] as string, '--retire-old', '7d', '--yes'], 'drawn'],
        [0, (ids) => ['keys', 'change', ids[0] as string, '--permission', 'api.leaderboard', '--json'], 'drawn'],
        [0, (ids) => ['keys', 'change', ids[0] as string, '--permission', 'api.leaderboard']],
        [1, (ids) => ['keys', 'change', ids[1] as string, '--expires', 'never'], 'drawn'],
        [0, (ids) => ['keys', 'reject', ids[1] as string, '--reason', REASON]],
        [0, (ids) => ['keys', 'show', ids[1] as string, '--json'], 'drawn'],
        [0, (ids) => ['keys', 'suspend', ids[0] as string, '--reason', REASON]],
        [1, (ids) => ['keys', 'resume', ids[1] as string], 'drawn'],
        [0, (ids) => ['keys', 'resume', ids[0] as string, '--json']],
        [0, (ids) => ['keys', 'revoke', ids[0] as string, '--reason', REASON]],
        [0, (ids) => ['keys', 'show', ids[0] as string], 'drawn'],
      ]),
      async (deps) => [await request(deps, { profile: 'ada' }), await request(deps, { profile: 'ada', name: 'Other' })],
      own.adminToken,
      confirming(own.world, own.grace),
    );
    expect(there).toEqual(here);
  },
  LIMIT_MS,
);

describe('on a remote server', () => {
  const at = (token: string, words: string[], decide?: Decider) => profilectlAt(server, token, words, decide);

  test(
    'each change prints the URL of the server to stderr, but reading does not',
    async () => {
      const identifier = await request(access, { profile: 'ada' });
      const done = await at(ownerToken, ['keys', 'edit', identifier, '--name', 'Other']);
      expect(done).toMatchObject({ code: 0, stderr: `On ${server.url}:\n` });
      expect(await at(ownerToken, ['keys', 'show', identifier])).toMatchObject({ code: 0, stderr: '' });
      await at(ownerToken, ['keys', 'withdraw', identifier]);
    },
    LIMIT_MS,
  );

  test(
    'an owner may omit the profile, and the reason of a revocation, but can’t decide',
    async () => {
      const words = ['keys', 'request', '--name', 'Mine', '--permission', 'api.lookup', '--description', DESCRIPTION];
      const { code, stdout } = await at(ownerToken, words);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^\w{8} pending\n$/)]);
      const identifier = stdout.slice(0, 8);
      const refused = { code: 1, stdout: '', stderr: 'Only admins can do this.\n' };
      expect(await at(ownerToken, ['keys', 'approve', identifier])).toEqual(refused);
      await at(ownerToken, ['keys', 'withdraw', identifier]);
      const own = await issue(access, { profile: 'ada' });
      expect(await at(ownerToken, ['keys', 'revoke', own.identifier])).toMatchObject({ code: 0 });
      expect(showKey(access, own.identifier).state).toBe('revoked');
    },
    LIMIT_MS,
  );

  test(
    'an identifier in another letter case is refused with the right one',
    async () => {
      const identifier = await request(access, { profile: 'ada' });
      const stderr = `${unknownButAlike(identifier)}\n`;
      const show = await at(ownerToken, ['keys', 'show', otherCase(identifier)]);
      expect(show).toEqual({ code: 1, stdout: '', stderr });
      await at(ownerToken, ['keys', 'withdraw', identifier]);
    },
    LIMIT_MS,
  );

  test(
    'an invalid token is reported as not being logged in (exit code 4)',
    async () => {
      const done = await at(`${ownerToken.slice(0, -1)}-`, ['keys', 'list']);
      expect(done).toEqual({
        code: 4,
        stdout: '',
        stderr: `${server.url} does not accept the token; run "profilectl login ${server.url}".\n`,
      });
    },
    LIMIT_MS,
  );
});
