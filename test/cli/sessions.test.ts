import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Deps } from '../../shared/deps.ts';
import { IS_RECORDING, namesOfIdentifiers } from '../support/recorded.ts';
import { testDeps } from '../support/world.ts';
import { runCommand } from './commands.ts';

// Each file of sessions/ has sessions with the commands of one noun: `# what it shows`, and then `$ profilectl …` lines, which
// run in order in a fresh world. Below each command is what it printed: stdout as it is, stderr with `! `, and `[exit code]`
// unless it is 0. `$ cat > name <<< text` writes a file beside the database; `$ profilectl … <<< text` types stdin, in which
// `\n` is a line break; `$ NAME=value profilectl …` sets a variable. Identifiers have names that later commands may use, such as `<id-001>`; secrets, times of
// these days and the folder look the same in each run. `UPDATE=1 bun test test/cli/sessions.test.ts` records; read what it recorded.

const FOLDER = join(import.meta.dir, 'sessions');

const WEEK_MS = 7 * 86_400_000;

/** Whether the moment of the run decides on a time. Others were typed. */
const isNow = (time: string) => Math.abs(Date.parse(time) - Date.now()) < WEEK_MS;

/** Gives identifiers, secrets, links, times and the folder stable names as wide as they are, and finds identifiers again. */
function naming({ db, folder }: Deps & { folder: string }) {
  const names = namesOfIdentifiers(db);
  return {
    hide: (printed: string) =>
      names.hide(
        printed
          .replaceAll(folder, '<folder>')
          .replace(/(?<=pl[kp]_[0-9A-Za-z]{8}_)[0-9A-Za-z]{38}/g, '<secret>')
          .replace(/(?<= pending +)\d+s/g, '0s')
          .replace(/(?<=\/enrol#)[\w-]{43}/g, '<secret>')
          .replace(/\d{4}-\d{2}-\d{2}[T ][\d:.]{5,12}/g, (time) => (isNow(time) ? time.replace(/\d/g, '0') : time)),
      ),
    reveal: (typed: string) => names.reveal(typed.replaceAll('<folder>', folder)),
  };
}

/** The words of a line as a shell splits them, without expansion. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
}

/** Runs the commands of a session, and returns it with what they printed now. */
async function replay(session: string): Promise<string> {
  const access = testDeps();
  const variables = {
    DATABASE_PATH: access.config.databasePath,
    PUBLIC_URL: 'https://api.example.org',
    MAIL_URL: `file:${join(access.folder, 'mail')}`,
    // Otherwise the history names the user who runs the tests.
    SUDO_USER: 'root',
  };
  const names = naming(access);
  const lines: string[] = [];
  for (const line of session.split('\n').filter((each) => /^[#$]/.test(each))) {
    lines.push(line);
    if (line.startsWith('#')) continue;
    const [command = '', input = ''] = names.reveal(line.slice(2)).split(' <<< ');
    const stdin = input.replaceAll('\\n', '\n');
    const typed = wordsOf(command);
    const at = typed.findIndex((word) => !/^[A-Z_]+=/.test(word));
    const settings = Object.fromEntries(typed.slice(0, at).map((word) => word.split(/=(.*)/, 2)));
    const [program, ...words] = typed.slice(at);
    if (program === 'cat') {
      writeFileSync(join(access.folder, basename(words.at(-1) ?? '')), stdin, { mode: 0o600 });
      continue;
    }
    const { code, stdout, stderr } = await runCommand(words, { variables: { ...variables, ...settings }, stdin });
    lines.push(...names.hide(stdout).split('\n').slice(0, -1));
    lines.push(
      ...names
        .hide(stderr)
        .split('\n')
        .slice(0, -1)
        .map((text) => `! ${text}`),
    );
    if (code !== 0) lines.push(`[${code}]`);
  }
  return `${lines.join('\n')}\n`;
}

for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.txt'))) {
  const path = join(FOLDER, file);
  const sessions = readFileSync(path, 'utf8').split(/^(?=# )/m);
  for (const [at, session] of sessions.entries()) {
    test(`${basename(file, '.txt')}: ${session.split('\n', 1)[0]?.slice(2)}`, async () => {
      const replayed = await replay(session);
      if (!IS_RECORDING) expect(replayed.trimEnd()).toBe(session.trimEnd());
      sessions[at] = replayed;
      if (IS_RECORDING) writeFileSync(path, sessions.map((each) => `${each.trimEnd()}\n`).join('\n'));
    });
  }
}
