import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, PROJECT, profilectlWords } from '../support/cli.ts';
import { tempFolder } from '../support/world.ts';

/** Starts the demo and waits for its last line. */
async function startDemo(TMPDIR: string) {
  const child = Bun.spawn(profilectlWords(['demo']), {
    env: cleanEnvironment({ TMPDIR, DATABASE_PATH: '/nowhere/real.db', PORT: '1', MAIL_URL: 'smtp://127.0.0.1:1' }),
    cwd: PROJECT,
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let printed = '';
  while (!printed.includes('Ctrl-C stops it')) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the demo ended: ${printed}`);
    printed += decoder.decode(value, { stream: true });
  }
  const curl = printed.split('\n').find((line) => line.trim().startsWith('curl ')) ?? '';
  return { child, printed, curl };
}

/** A folder with nothing but an `npx` that runs the Bun of this version without a registry. */
function npxThatIsBun(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const script = `#!/bin/sh\n[ "$1 $2" = "-y bun@${Bun.version}" ] || exit 1\nshift 2\nexec '${process.execPath}' "$@"\n`;
  writeFileSync(join(bin, 'npx'), script, { mode: 0o755 });
  return `${bin}:/bin:/usr/bin`;
}

test.skipIf(Bun.which('curl') === null)(
  'two demos side by side each print a curl line that works as it stands, and leave nothing behind',
  async () => {
    const TMPDIR = tempFolder();
    const demos = [await startDemo(TMPDIR), await startDemo(TMPDIR)];
    for (const { curl, printed } of demos) {
      expect(printed).toContain('50 sample profiles');
      const answer = Bun.spawnSync(['sh', '-c', curl], { env: cleanEnvironment() });
      expect(JSON.parse(answer.stdout.toString())).toMatchObject({ id: 7, username: 'Ada', banned: false });
    }
    const npx = npxThatIsBun(TMPDIR);
    for (const { curl, printed } of demos) {
      const [address = ''] = /http:\S+$/.exec(curl) ?? [];
      const others = [...printed.matchAll(/^ {2}"(http:\S+)"/gm)].map(([, other = '']) => other);
      expect(others.length).toBeGreaterThan(3);
      for (const other of others) {
        const answer = Bun.spawnSync(['sh', '-c', curl.replace(address, `"${other}"`)], { env: cleanEnvironment() });
        expect(Object.keys(JSON.parse(answer.stdout.toString()))).not.toContain('error');
      }
      const hint = printed.split('\n').find((line) => line.endsWith(' keys list')) ?? '';
      const { stdout } = Bun.spawnSync(['sh', '-c', hint], { env: { PATH: npx }, cwd: TMPDIR });
      expect(stdout.toString()).toContain('Demo key');
    }
    expect(demos[0]?.curl).not.toBe(demos[1]?.curl);
    demos[0]?.child.kill('SIGTERM');
    demos[1]?.child.kill('SIGHUP');
    for (const { child } of demos) expect(await child.exited).toBe(0);
    expect(readdirSync(TMPDIR)).toEqual(['bin']);
    expect(existsSync('/nowhere')).toBe(false);
  },
);
