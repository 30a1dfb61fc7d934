import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cleanEnvironment, PROJECT } from '../support/cli.ts';
import { type LogLine, startTestServer } from '../support/http.ts';
import { keyFor, prepare } from '../support/requests.ts';

// The clients in docs/clients/ are run unchanged, except for the URL.

const server = await startTestServer();
await prepare(server.deps);

type Client = { file: string; program: string; driver: string; main: (calls: string) => string; call: Call };
type Call = (path: string, maxSeconds?: number) => string;

const CLIENTS: Client[] = [
  {
    file: 'profile-lookup.ts',
    program: process.execPath,
    driver: 'main.ts',
    main: (calls) => `import { get, Refusal } from './profile-lookup.ts';
async function show(path: string, maxSeconds?: number) {
  try {
    console.log(JSON.stringify(await get(path, maxSeconds)));
  } catch (error) {
    if (!(error instanceof Refusal)) console.log('"another error"');
    else console.log(JSON.stringify([error.status, error.code, error.message]));
  }
}
${calls}`,
    call: (path, maxSeconds) => `await show(${JSON.stringify(path)}, ${maxSeconds});`,
  },
  {
    file: 'profile_lookup.py',
    program: 'python3',
    driver: 'main.py',
    main: (calls) => `import json
from profile_lookup import get, Refusal
def show(*call):
    try:
        print(json.dumps(get(*call)))
    except Refusal as refusal:
        print(json.dumps(refusal.args))
    except Exception:
        print('"another error"')
${calls}`,
    call: (path, maxSeconds) => `show(${JSON.stringify(path)}${maxSeconds === undefined ? '' : `, ${maxSeconds}`})`,
  },
];

/** What the client prints for each of these calls, in order: the body, or status, code and sentence of a refusal. */
async function run(client: Client, base: string, secret: string, calls: [path: string, maxSeconds?: number][]) {
  const folder = join(server.deps.folder, `${basename(client.file)}-${crypto.randomUUID()}`);
  mkdirSync(folder);
  const text = readFileSync(join(PROJECT, 'docs/clients', client.file), 'utf8');
  writeFileSync(join(folder, client.file), text.replace('"http://127.0.0.1:3000/api"', JSON.stringify(base)));
  writeFileSync(join(folder, client.driver), client.main(calls.map((call) => client.call(...call)).join('\n')));
  const env = cleanEnvironment({ SECRET: secret, NO_PROXY: '*', PYTHONDONTWRITEBYTECODE: '1' });
  const child = Bun.spawn([client.program, client.driver], { cwd: folder, env, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, stderr]).toEqual([0, '']);
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

async function untilLogged(lines: () => LogLine[], count: number): Promise<void> {
  while (lines().length < count) await Bun.sleep(10);
}

describe.each(CLIENTS)('$file', (client) => {
  const isAbsent = Bun.which(client.program) === null;
  const base = `${server.url}/api`;

  test.skipIf(isAbsent)(
    'looks profiles up, revalidates responses, reports refusals, and waits as Retry-After says',
    async () => {
      const { secret, identifier } = await keyFor(server.deps, ['3/1s']);
      const ours = () => server.log.filter(({ key }) => key === identifier);
      const ada = '/lookup/username/Ada';
      const running = run(client, base, secret, [[ada], [ada], ['/lookup/username/ghost'], [ada, 1], [ada]]);
      await untilLogged(ours, 5);
      const refusedAt = performance.now();
      server.deps.clock.advance(2_000);
      const [first, again, nobody, impatient, patient] = await running;
      expect(performance.now() - refusedAt).toBeGreaterThan(1_900);
      expect(first).toMatchObject({ id: 7, username: 'Ada' });
      expect([again, patient]).toEqual([first, first]);
      expect(nobody).toEqual([404, 'not_found', 'There is no such profile.']);
      expect(impatient).toEqual([429, 'rate_limited', '3 requests per second are used up; try again in 2 s.']);
      expect(ours().map(({ status }) => status)).toEqual([200, 304, 404, 429, 429, 304]);
    },
    30_000,
  );

  test.skipIf(isAbsent)(
    'reports that a key does not work',
    async () => {
      const [shown] = await run(client, base, 'plk_none', [['/key']]);
      expect(shown).toEqual([401, 'invalid_token', 'This API key is not valid.']);
    },
    30_000,
  );

  test.skipIf(isAbsent)(
    'waits for a busy server, within its limits, and sends the key to no other server',
    async () => {
      const stub = startStub();
      const paths: [string, number?][] = [['/busy'], ['/long'], ['/proxy'], ['/moved']];
      const [busy, long, proxy, moved] = await run(client, stub.url, 'plk_any', paths);
      expect(busy).toEqual({ tries: 2 });
      expect(long).toEqual([503, 'busy', 'Later.']);
      expect(proxy).toEqual([502, null, 'Bad Gateway']);
      expect(moved).toEqual(client.program === 'python3' ? { authorization: null } : 'another error');
      expect(stub.strayKeys()).toBe(0);
    },
    30_000,
  );
});

/** A server that is busy, is behind a proxy, or redirects to another one, which counts the keys that it receives. */
function startStub() {
  let [tries, strayKeys] = [0, 0];
  const listen = (fetch: (request: Request) => Response) => {
    const listener = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch });
    afterAll(() => listener.stop(true));
    return listener.url.origin;
  };
  const other = listen(({ headers }) => {
    if (headers.has('authorization')) strayKeys++;
    return Response.json({ authorization: headers.get('authorization') });
  });
  const busy = (seconds: string) =>
    Response.json({ error: 'Later.' }, { status: 503, headers: { 'Retry-After': seconds, 'X-Error-Code': 'busy' } });
  const url = listen(({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === '/moved') return Response.redirect(other);
    if (pathname === '/proxy') return new Response('<html>', { status: 502, headers: { 'Retry-After': '1' } });
    if (pathname === '/long') return busy('61');
    return ++tries < 2 ? busy('1') : Response.json({ tries });
  });
  return { url, strayKeys: () => strayKeys };
}
