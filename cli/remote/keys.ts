import type { z } from 'zod';
import { Key, KeyList, KeyUsage, KeyWithHistory } from '../../shared/api/key-bodies.ts';
import { Me } from '../../shared/api/manage-bodies.ts';
import { DAY_MS, systemClock } from '../../shared/clock.ts';
import type { ListInput } from '../../shared/keys/input-groups.ts';
import type { Outcome } from '../../shared/keys/lifecycle.ts';
import { noSuchKey } from '../../shared/keys/unknown.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import type { Operation } from '../../shared/operations/entry.ts';
import type { OPERATIONS } from '../../shared/operations.ts';
import type { ListOutput } from '../../shared/usage/listed.ts';
import type { Globals } from '../context.ts';
import type { KeysThere } from '../keys/context.ts';
import { type AskedHost, askHost, askPages, type HostAnswer, type Question } from './client.ts';

// The operations on keys, asked of a server elsewhere as requests under /manage/v1/keys.

/** What the commands of keys need, at a server elsewhere, which knows by the token who asks. */
export function keysAt(host: AskedHost): Omit<KeysThere, keyof Globals> {
  const perform = performAt(host);
  let asked: Promise<HostAnswer<z.infer<typeof Me>>> | null = null;
  const me = async () => {
    asked ??= askHost(host, { method: 'GET', path: '/me', answer: Me });
    return (await asked).body;
  };
  return {
    clock: systemClock,
    server: host.url,
    perform,
    performAsNow: () => perform,
    ownProfile: async () => {
      const person = await me();
      return person.kind === 'owner' ? person.profile : null;
    },
    checkProfile: () => {},
    findProfile: ({ profile }) => ({ profile }),
  };
}

type Operations = typeof OPERATIONS;

/** What does each operation that a command asks of a server, with what the operation gives. */
type Acts = {
  [Name in 'list' | 'show' | 'usage' | 'request' | 'edit' | 'withdraw' | 'revoke']: (
    input: never,
  ) => Promise<Awaited<ReturnType<Operations[Name]['act']>>>;
};

function performAt(host: AskedHost): KeysThere['perform'] {
  const show = async (identifier: string) => {
    const { body } = await askHost(host, { method: 'GET', path: pathOf(identifier), answer: KeyWithHistory });
    const { history, ...key } = body;
    return { key, history };
  };
  const send = async (question: Omit<Question<KeyView>, 'answer'>): Promise<Outcome> => {
    const { body } = await askHost(host, { ...question, answer: Key });
    return { identifier: body.identifier, warning: null };
  };
  const acts: Record<string, unknown> = {
    list: (input: ListInput) => listAt(host, input),
    show: ({ identifier }: { identifier: string }) => show(identifier),
    usage: async ({ identifier, days }: { identifier: string; days: number }) => {
      const query = { days: String(days) };
      return (await askHost(host, { method: 'GET', path: `${pathOf(identifier)}/usage`, query, answer: KeyUsage }))
        .body;
    },
    request: (input: object) => send({ method: 'POST', path: '/keys', json: input }),
    edit: ({ identifier, name }: { identifier: string; name: string }) =>
      send({ method: 'PATCH', path: pathOf(identifier), json: { name } }),
    withdraw: ({ identifier }: { identifier: string }) =>
      send({ method: 'POST', path: `${pathOf(identifier)}/withdraw`, json: {} }),
    revoke: ({ identifier, reason }: { identifier: string; reason?: string }) =>
      send({ method: 'POST', path: `${pathOf(identifier)}/revoke`, json: { reason } }),
  } satisfies Acts;
  return async <Input extends object, Output>({ name }: Operation<Input, Output>, input: Input): Promise<Output> => {
    const act = acts[name] as (input: Input) => Promise<Output>;
    return act(input);
  };
}

/**
 * All keys that match, page by page, each once. A key that is decided between two pages is in both, first with the pending
 * ones; it is listed as it was seen last.
 */
async function listAt(host: AskedHost, { states, profile, unusedForMs }: ListInput): Promise<ListOutput> {
  const keys = new Map<string, KeyView>();
  const lastUses = new Map<string, number>();
  const unused = unusedForMs == null ? undefined : spanText(unusedForMs);
  const query = { state: states?.join(','), profile: profile ?? undefined, unused };
  for await (const page of askPages(host, { method: 'GET', path: '/keys', query, answer: KeyList })) {
    for (const key of page.keys) {
      keys.delete(key.identifier);
      keys.set(key.identifier, key);
    }
    for (const [identifier, at] of Object.entries(page.lastUses)) lastUses.set(identifier, Date.parse(at));
  }
  return { keys: [...keys.values()], lastUses, next: null };
}

function spanText(spanMs: number): string {
  return spanMs % DAY_MS === 0 ? `${spanMs / DAY_MS}d` : `${Math.floor(spanMs / 1000)}s`;
}

/** Throws `not_found` for what is no identifier, such as `..`, which would lead to another path. */
function pathOf(identifier: string): string {
  if (!/^[0-9A-Za-z]{8}$/.test(identifier)) throw noSuchKey();
  return `/keys/${identifier}`;
}
