import { expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
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
    expect(demos[0]?.curl).not.toBe(demos[1]?.curl);
    demos[0]?.child.kill('SIGTERM');
    demos[1]?.child.kill('SIGHUP');
    for (const { child } of demos) expect(await child.exited).toBe(0);
    expect(readdirSync(TMPDIR)).toEqual([]);
    expect(existsSync('/nowhere')).toBe(false);
  },
);
