import { DAY_MS, systemClock } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import type { ListInput } from '../../shared/keys/input-groups.ts';
import type { Outcome } from '../../shared/keys/lifecycle.ts';
import { noSuchKey } from '../../shared/keys/unknown.ts';
import type { HistoryView, KeyView } from '../../shared/keys/view.ts';
import type { Operation } from '../../shared/operations.ts';
import type { ListOutput } from '../../shared/usage/listed.ts';
import type { UsageView } from '../../shared/usage/usage-view.ts';
import type { Globals } from '../context.ts';
import type { KeysThere } from '../keys/context.ts';
import { type AskedHost, askHost, type HostAnswer, type Question } from './client.ts';
import { strangeAnswer } from './refused-answer.ts';

// The operations on keys, asked of a server elsewhere as requests under /manage/v1/keys.

/** What the commands of keys need, at a server elsewhere, which knows by the token who asks. */
export function keysAt(host: AskedHost): Omit<KeysThere, keyof Globals> {
  const perform = performAt(host);
  let asked: Promise<HostAnswer> | null = null;
  const me = async () => {
    asked ??= askHost(host, { method: 'GET', path: '/me' });
    return (await asked).body;
  };
  return {
    clock: systemClock,
    server: host.url,
    perform,
    performAsNow: () => perform,
    ownProfile: async () => {
      const { kind, profile } = await me();
      return kind === 'owner' && typeof profile === 'string' ? profile : null;
    },
    checkProfile: () => {},
    findProfile: ({ profile }) => ({ profile }),
  };
}

/** Does one operation. */
type Act = (input: never) => Promise<unknown>;

function performAt(host: AskedHost): KeysThere['perform'] {
  const ask = (question: Question) => askHost(host, question);
  const show = async (identifier: string) => {
    const answer = await ask({ method: 'GET', path: pathOf(identifier) });
    const { history, ...key } = keyIn(host, answer) as KeyView & { history: HistoryView[] };
    return { key, history };
  };
  const send = async (question: Question): Promise<Outcome> => ({
    identifier: keyIn(host, await ask(question)).identifier,
    warning: null,
  });
  const acts: Record<string, Act> = {
    list: (input: ListInput) => listAt(host, input),
    show: ({ identifier }: { identifier: string }) => show(identifier),
    usage: async ({ identifier, days }: { identifier: string; days: number }) =>
      (await ask({ method: 'GET', path: `${pathOf(identifier)}/usage`, query: { days: String(days) } }))
        .body as unknown as UsageView,
    request: (input: object) => send({ method: 'POST', path: '/keys', json: input }),
    edit: ({ identifier, name }: { identifier: string; name: string }) =>
      send({ method: 'PATCH', path: pathOf(identifier), json: { name } }),
    withdraw: ({ identifier }: { identifier: string }) =>
      send({ method: 'POST', path: `${pathOf(identifier)}/withdraw`, json: {} }),
    revoke: ({ identifier, reason }: { identifier: string; reason?: string }) =>
      send({ method: 'POST', path: `${pathOf(identifier)}/revoke`, json: { reason } }),
  };
  return async <Input extends object, Output>({ name }: Operation<Input, Output>, input: Input): Promise<Output> => {
    const act = acts[name] as Act;
    return (await act(input as never)) as Output;
  };
}

/** More keys are not read: a server that always has another page would fill the memory. */
const MAX_KEYS = 100_000;

/**
 * All keys that match, page by page, each once. A key that is decided between two pages is in both, first with the pending
 * ones; it is listed as it was seen last. Ends at a page that brings nothing new, even if the server says that more follow.
 * Throws `refused` for more than 100 000 keys.
 */
async function listAt(host: AskedHost, { states, profile, unusedForMs }: ListInput): Promise<ListOutput> {
  const keys = new Map<string, KeyView>();
  const lastUses = new Map<string, number>();
  const unused = unusedForMs == null ? undefined : spanText(unusedForMs);
  for (let cursor: string | undefined; ; ) {
    const query = { state: states?.join(','), profile: profile ?? undefined, unused, cursor };
    const answer = await askHost(host, { method: 'GET', path: '/keys', query });
    const { keys: page, lastUses: uses } = answer.body as { keys: KeyView[]; lastUses: Record<string, string> };
    if (!Array.isArray(page) || !page.every(isKey)) throw strangeAnswer(host.url, answer.status);
    const isNew = addPage(keys, page);
    for (const { identifier } of page) {
      const at = uses?.[identifier];
      if (at !== undefined) lastUses.set(identifier, Date.parse(at));
    }
    const next = nextCursor(answer.headers.get('link'));
    if (next === null || !isNew) return { keys: [...keys.values()], lastUses, next: null };
    if (keys.size > MAX_KEYS) {
      throw new AppError(
        'refused',
        `${host.url} has more than ${MAX_KEYS} such keys; list those of a state or profile.`,
      );
    }
    cursor = next;
  }
}

/** Adds the keys of a page. Returns whether it has an unknown key, or one that was pending and is not any more. */
function addPage(keys: Map<string, KeyView>, page: readonly KeyView[]): boolean {
  let isNew = false;
  for (const key of page) {
    const known = keys.get(key.identifier);
    if (known !== undefined && (known.state !== 'pending' || key.state === 'pending')) continue;
    keys.delete(key.identifier);
    keys.set(key.identifier, key);
    isNew = true;
  }
  return isNew;
}

/** The cursor of the next page (RFC 8288), null on the last one. Its address itself is not used: it may be anywhere. */
function nextCursor(link: string | null): string | null {
  const [, address] = /<([^>]*)>;\s*rel="next"/.exec(link ?? '') ?? [];
  return address === undefined ? null : (URL.parse(address)?.searchParams.get('cursor') ?? null);
}

function spanText(spanMs: number): string {
  return spanMs % DAY_MS === 0 ? `${spanMs / DAY_MS}d` : `${Math.floor(spanMs / 1000)}s`;
}

/** Throws `not_found` for what is no identifier, such as `..`, which would lead to another path. */
function pathOf(identifier: string): string {
  if (!/^[0-9A-Za-z]{8}$/.test(identifier)) throw noSuchKey();
  return `/keys/${identifier}`;
}

/** The key of an answer. Throws `refused` where it has none. */
function keyIn(host: AskedHost, { status, body }: HostAnswer): KeyView {
  if (isKey(body)) return body;
  throw strangeAnswer(host.url, status);
}

/** Whether a server has sent a key: the members that every part of the program uses are lists and texts. */
function isKey(value: unknown): value is KeyView {
  if (typeof value !== 'object' || value === null) return false;
  const { identifier, state, permissions, requestedPermissions, rateLimits } = value as Record<string, unknown>;
  return (
    typeof identifier === 'string' &&
    typeof state === 'string' &&
    [permissions, requestedPermissions, rateLimits].every(Array.isArray)
  );
}
