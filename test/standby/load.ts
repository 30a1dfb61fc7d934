import { SMTPServer } from 'smtp-server';
import type { Machine } from './machine.ts';

// Everything that clients and operators do until the power is cut, and what was acknowledged.

/** The step of a key's life that was started last, and the last one acknowledged. */
export type KeySteps = { begun: string; acknowledged: string | null };

/** Everything that was acknowledged, over all cuts. */
export type Acknowledged = {
  /** Usernames whose import ended with 0. */
  profiles: string[];
  /** By identifier. */
  keys: Map<string, KeySteps>;
  /** Every secret in an accepted mail. */
  secrets: Set<string>;
  /** When each lookup with the key of `spender` got 200, by `performance.now`. */
  answeredAtMs: number[];
  /** Acknowledged commits: imports and steps of keys. */
  commits: number;
};

/** The load's own names never repeat. */
let lastNumber = 0;

/** The number of profiles at the start; each can have three keys. */
export const SEED_PROFILES = 400;

/** At the start nothing has been acknowledged. */
export function createAcknowledged(): Acknowledged {
  return { profiles: [], keys: new Map(), secrets: new Set(), answeredAtMs: [], commits: 0 };
}

/** Accepts every mail on a port that the system assigns, and records the secrets in it first. */
export async function startMailServer(acked: Acknowledged): Promise<{ port: number; close: () => void }> {
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onData: async (stream, _session, accept) => {
      const text = await new Response(stream as unknown as ReadableStream).text();
      for (const [secret] of text.matchAll(/plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g)) acked.secrets.add(secret);
      accept();
    },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  server.listen(0, '127.0.0.1', () => resolve((server.server.address() as { port: number }).port));
  return { port: await promise, close: () => server.close() };
}

/** Runs a command of `profilectl` in a machine; null unless it was seen to end with 0. */
export async function command(machine: Machine, words: string, stdin = ''): Promise<string | null> {
  const input = stdin === '' ? '</dev/null' : `<<'END'\n${stdin}\nEND`;
  const printed = await machine.shell(`profilectl ${words} 2>/dev/null ${input}\necho "ended with $?."`);
  const [, output, code] = /^([\s\S]*)ended with (\d+)\.\n$/.exec(printed) ?? [];
  return code === '0' ? (output as string) : null;
}

/** Imports profiles, leads keys through their lives and looks profiles up, until `isDone`. */
export async function load(
  machine: Machine,
  acked: Acknowledged,
  spender: string,
  isDone: () => boolean,
): Promise<void> {
  const repeat = async (act: () => Promise<void>) => {
    while (!isDone()) await act();
  };
  await Promise.all([
    repeat(() => importSome(machine, acked)),
    repeat(() => leadKey(machine, acked)),
    repeat(() => lookUp(machine, acked, spender)),
  ]);
}

async function importSome(machine: Machine, acked: Acknowledged): Promise<void> {
  const names = Array.from({ length: 20 }, () => `n${++lastNumber}`);
  const lines = names.map((username) => JSON.stringify({ id: 1_000_000 + Number(username.slice(1)), username }));
  if ((await command(machine, 'profiles import -', lines.join('\n'))) === null) return;
  acked.profiles.push(...names);
  acked.commits++;
}

/** Requests a key, approves it, and revokes every other one. */
async function leadKey(machine: Machine, acked: Acknowledged): Promise<void> {
  const number = ++lastNumber;
  const asked = await command(
    machine,
    `keys request --profile u${(number % SEED_PROFILES) + 1} --name Bot --description ${'x'.repeat(80)} --permission api.lookup --json`,
  );
  if (asked === null) return;
  const { identifier } = JSON.parse(asked) as { identifier: string };
  const steps: KeySteps = { begun: 'pending', acknowledged: 'pending' };
  acked.keys.set(identifier, steps);
  acked.commits++;
  const take = async (state: string, words: string) => {
    steps.begun = state;
    if ((await command(machine, words)) === null) return false;
    steps.acknowledged = state;
    acked.commits++;
    return true;
  };
  if (!(await take('Active', `keys approve ${identifier} --yes`)) || number % 2 === 0) return;
  await take('revoked', `keys revoke ${identifier} --reason Over --yes`);
}

async function lookUp(machine: Machine, acked: Acknowledged, secret: string): Promise<void> {
  const status = await ask(machine, `/api/lookup/uid/${1 + (lastNumber % SEED_PROFILES)}`, secret);
  if (status === 200) acked.answeredAtMs.push(performance.now());
  await Bun.sleep(50);
}

/** The status of a response, or null if there was none. Each request comes from a different IP address. */
export async function ask(
  machine: Machine,
  path: string,
  secret: string,
  body?: (text: string) => void,
): Promise<number | null> {
  const bytes = crypto.getRandomValues(new Uint8Array(3));
  const headers = {
    Authorization: `Bearer ${secret}`,
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-For': `11.${bytes.join('.')}`,
  };
  try {
    const answer = await fetch(machine.url + path, { headers, signal: AbortSignal.timeout(5_000) });
    const text = await answer.text();
    body?.(text);
    return answer.status;
  } catch {
    return null;
  }
}
