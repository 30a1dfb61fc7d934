import type { z } from 'zod';
import { Key, KeyList, KeyUsage, KeyWithHistory } from '../../../shared/api/key-bodies.ts';
import { Me } from '../../../shared/api/manage-bodies.ts';
import { systemClock } from '../../../shared/clock.ts';
import { APPROVAL_LEASE_MS } from '../../../shared/deps.ts';
import { factsOf } from '../../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import type { Outcome } from '../../../shared/keys/life/move.ts';
import { isIdentifier } from '../../../shared/keys/list-cursor.ts';
import { refuseState } from '../../../shared/keys/record.ts';
import { noSuchKey } from '../../../shared/keys/unknown-key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type JsonDoor, type Operation, queryInputs } from '../../../shared/operations/entry.ts';
import type { ListOutput } from '../../../shared/usage/key-list.ts';
import type { Globals } from '../../context.ts';
import { type AskedHost, askHost, askPages, type HostAnswer, type HostRequest } from '../../remote/client.ts';
import type { Perform, RemoteKeys } from '../context.ts';

// Performs operations on keys remotely, by the requests under /manage/v1/keys that shared/operations.ts describes.

/** Makes the context of key commands that use a remote server, which identifies the person by their token. */
export function remoteKeys(host: AskedHost): Omit<RemoteKeys, keyof Globals> {
  const perform = performAt(host);
  let asked: Promise<HostAnswer<z.infer<typeof Me>>> | null = null;
  const me = async () => {
    asked ??= askHost(host, { method: 'GET', path: '/me', answer: Me });
    return (await asked).body;
  };
  return {
    clock: systemClock,
    server: host.url,
    approvalLeaseMs: APPROVAL_LEASE_MS,
    perform,
    performUnlessChanged: () => performAt(host, new Map()),
    defaults: ({ input }) => Object.fromEntries(Object.keys(input.shape).map((name) => [name, null])),
    prepare: async ({ from, event, refuse }, key, given) => {
      refuseState(key, from, event);
      refuse(key, given, { approvalLeaseMs: APPROVAL_LEASE_MS, nowMs: systemClock.nowMs() });
      return [];
    },
    ownProfile: async () => {
      const person = await me();
      return person.kind === 'owner' ? person.profile : null;
    },
    checkProfile: () => {},
    findProfile: ({ profile }) => ({ profile }),
  };
}

/**
 * Makes a {@link Perform} that sends requests to a server. With `versions`, it refuses to change a key that has changed since
 * it was shown.
 */
function performAt(host: AskedHost, versions: Map<unknown, string> | null = null): Perform {
  return async <Input extends object, Output>(operation: Operation<Input, Output>, input: Input): Promise<Output> => {
    const { json } = operation.doors;
    if (json === null) throw new Error(`The operation ${operation.name} has no request.`);
    const inputs = new Map(Object.entries(input));
    const identifier = inputs.get('identifier');
    const request = requestOf(operation.input, json, inputs);
    if (json.answers === 'list') return (await listAt(host, request)) as Output;
    const { schema, read } = ANSWERS[json.answers];
    const ifMatch = json.method === 'GET' ? undefined : versions?.get(identifier);
    const { body, headers } = await askHost(host, { ...request, ifMatch, answer: schema });
    const version = headers.get('etag');
    if (version !== null) versions?.set(identifier, version);
    return read(body) as Output;
  };
}

type KeysRequest = Omit<HostRequest<unknown>, 'answer'>;

/**
 * The request for an operation with these inputs. Throws `not_found` for a malformed identifier, since one such as `..`
 * would change the path.
 */
function requestOf(schema: z.ZodObject, door: JsonDoor, input: ReadonlyMap<string, unknown>): KeysRequest {
  const identifier = input.get('identifier');
  if (door.path !== '' && !isIdentifier(String(identifier))) throw noSuchKey();
  const query = queryInputs(schema, door).map(([parameter, name, field]) => {
    const value = input.get(name) ?? null;
    return [parameter, value === null ? undefined : typedText(factsOf(field).kind, value).join(',')];
  });
  return {
    method: door.method,
    path: `/keys${door.path.replace(':identifier', String(identifier))}`,
    query: Object.fromEntries(query),
    ...(door.method !== 'GET' && {
      json: Object.fromEntries((door.body ?? []).map((name) => [name, input.get(name)])),
    }),
  };
}

type Answer = { schema: z.ZodType; read: (body: unknown) => unknown };

/** The schema of a response, and the operation's output for a body that matches it. */
function answer<Body>(schema: z.ZodType<Body>, read: (body: Body) => unknown): Answer {
  return { schema, read: (body) => read(body as Body) };
}

const changedKey = answer(Key, ({ identifier }): Outcome => ({ identifier, noticeIds: [], warning: null }));

const ANSWERS: Readonly<Record<Exclude<JsonDoor['answers'], 'list'>, Answer>> = {
  key: changedKey,
  'new key': changedKey,
  'key with history': answer(KeyWithHistory, ({ history, ...key }) => ({ key, history })),
  usage: answer(KeyUsage, (body) => body),
};

/**
 * Lists up to `limit` keys or, without it, all matching keys, page by page, each once. A key that is decided on between
 * two pages is on both, first as pending; the later version is listed.
 */
async function listAt(host: AskedHost, request: KeysRequest): Promise<ListOutput> {
  const keys = new Map<string, KeyView>();
  const lastUses = new Map<string, number>();
  for await (const page of askPages(host, { ...request, answer: KeyList })) {
    for (const key of page.keys) {
      keys.delete(key.identifier);
      keys.set(key.identifier, key);
    }
    for (const [identifier, at] of Object.entries(page.lastUses)) lastUses.set(identifier, Date.parse(at));
    if (request.query?.limit !== undefined) return { keys: page.keys, lastUses, next: page.next };
  }
  return { keys: [...keys.values()], lastUses, next: null };
}
