import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { approvalMail } from '../../../shared/mail/texts.ts';
import { NEWS } from './sample.ts';

// The line is copied from the mail, as a reader would, and run by real shells against a real server.

// Not the sample's, which children of other tests have in their command lines.
const SECRET = `plk_k7Qm2XaB_${'aB3'.repeat(12)}cD`;
const SHELLS = ['sh', 'bash', 'dash', 'zsh'].filter((shell) => Bun.which(shell) !== null);
const seen: { path: string; authorization: string | null; programs: string[] }[] = [];
let server: ReturnType<typeof Bun.serve>;

beforeAll(() => {
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const authorization = request.headers.get('authorization');
      seen.push({ path: new URL(request.url).pathname, authorization, programs: runningPrograms() });
      return Response.json({ identifier: 'k7Qm2XaB' });
    },
  });
});
afterAll(() => server.stop(true));

function lineFor(prefix: string): string {
  const { text } = approvalMail({ ...NEWS, publicUrl: `http://127.0.0.1:${server.port}${prefix}` });
  return text.split('\n').find((line) => line.includes('curl')) ?? '';
}

/** The command lines of all processes, as any user of the machine sees them; Linux only. */
function runningPrograms(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8');
      } catch {
        return ''; // It has ended meanwhile.
      }
    });
}

const CTRL_C = '\u0003';

/** Runs the line in a terminal, types `answer` at its prompt, and returns everything that the screen showed. */
async function runInTerminal(shell: string, line: string, answer: string): Promise<string> {
  let screen = '';
  let answered = false;
  const decoder = new TextDecoder();
  const child = Bun.spawn([shell, '-c', line], {
    terminal: {
      data(terminal, bytes) {
        screen += decoder.decode(bytes, { stream: true });
        if (answered || !screen.includes('Secret: ')) return;
        answered = true;
        terminal.write(answer);
      },
    },
  });
  // A shell that gets Ctrl-C between its prompt and its read still waits; a user would press it again.
  const pressAgain = () => answered && child.terminal?.write(CTRL_C);
  const again = answer.endsWith(CTRL_C) ? setInterval(pressAgain, 1_000) : undefined;
  await child.exited;
  clearInterval(again);
  return screen;
}

describe.skipIf(Bun.which('curl') === null)('the command line in the approval mail', () => {
  for (const shell of SHELLS) {
    test(`works in ${shell}, and neither the screen nor a process list shows the secret`, async () => {
      seen.length = 0;
      const screen = await runInTerminal(shell, lineFor(''), `${SECRET}\r`);
      expect(screen).toContain('{"identifier":"k7Qm2XaB"}');
      expect(screen).not.toContain('plk_');
      expect(seen).toMatchObject([{ path: '/api/key', authorization: `Bearer ${SECRET}` }]);
      const programs = seen[0]?.programs ?? [];
      expect(programs.some((program) => program.startsWith('curl'))).toBe(process.platform === 'linux');
      expect(programs.filter((program) => program.includes(SECRET))).toEqual([]);
    });

    test(`works in ${shell} with the secret on stdin, spaces around it or not`, async () => {
      for (const input of [`${SECRET}\n`, `  ${SECRET} \n`]) {
        seen.length = 0;
        const child = Bun.spawn([shell, '-c', lineFor('')], { stdin: new Blob([input]), stderr: 'ignore' });
        expect(await child.stdout.text()).toEndWith('{"identifier":"k7Qm2XaB"}\n');
        expect(seen).toMatchObject([{ authorization: `Bearer ${SECRET}` }]);
      }
    });

    test(`sends nothing after Ctrl-C in ${shell}, and restores the echo`, async () => {
      seen.length = 0;
      const screen = await runInTerminal(shell, `trap : INT; ${lineFor('')}; stty -a`, `plk_half${CTRL_C}`);
      expect(screen).not.toContain('plk_');
      expect(screen).toMatch(/[ ;]echo[ ;]/);
      expect(seen).toEqual([]);
    });
  }

  test('shells do not interpret characters of the URL', async () => {
    seen.length = 0;
    const child = Bun.spawn(['sh', '-c', lineFor("/it's/$(id)/a&b;c")], {
      stdin: new Blob([`${SECRET}\n`]),
      stderr: 'ignore',
    });
    await child.exited;
    expect(seen.map(({ path }) => path)).toEqual(["/it's/$(id)/a&b;c/api/key"]);
  });
});
