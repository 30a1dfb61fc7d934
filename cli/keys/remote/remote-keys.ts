import type { z } from 'zod';
import { Key, KeyList, KeyUsage, KeyWithHistory } from '../../../shared/api/key-bodies.ts';
import { Me } from '../../../shared/api/manage-bodies.ts';
import { systemClock } from '../../../shared/clock.ts';
import { APPROVAL_LEASE_MS } from '../../../shared/deps.ts';
import { factsOf } from '../../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import type { Outcome } from '../../../shared/keys/life/move.ts';
import { refuseState } from '../../../shared/keys/record.ts';
import { noSuchKey } from '../../../shared/keys/unknown-key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { JsonDoor, Operation } from '../../../shared/operations/entry.ts';
import type { ListOutput } from '../../../shared/usage/key-list.ts';
import type { Globals } from '../../context.ts';
import { type AskedHost, askHost, askPages, type HostAnswer, type HostRequest } from '../../remote/client.ts';
import type { RemoteKeys } from '../context.ts';

// Performs operations on keys remotely, by the requests under /manage/v1/keys that their entries in the table describe.

/** Makes the context of commands on keys on a remote server, which knows the person by their token. */
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
    performUnlessChanged: () => perform,
    prepare: async ({ from, event, input, refuse }, key, given) => {
      refuseState(key, from, event);
      refuse(key, given, { approvalLeaseMs: APPROVAL_LEASE_MS, nowMs: systemClock.nowMs() });
      return { usual: Object.fromEntries(Object.keys(input.shape).map((name) => [name, null])), alsoConfirmed: [] };
    },
    ownProfile: async () => {
      const person = await me();
      return person.kind === 'owner' ? person.profile : null;
    },
    checkProfile: () => {},
    findProfile: ({ profile }) => ({ profile }),
  };
}

function performAt(host: AskedHost): RemoteKeys['perform'] {
  return async <Input extends object, Output>(operation: Operation<Input, Output>, input: Input): Promise<Output> => {
    const { json } = operation.doors;
    if (json === null) throw new Error(`A server is not asked for the operation ${operation.name}.`);
    const request = requestOf(operation.input, json, new Map(Object.entries(input)));
    return (await ANSWERS[json.answers](host, request)) as Output;
  };
}

type KeysRequest = Omit<HostRequest<unknown>, 'answer'>;

/**
 * The request for an operation with these inputs. Throws `not_found` for a malformed identifier: one such as `..` would change
 * the path.
 */
function requestOf({ shape }: z.ZodObject, door: JsonDoor, input: ReadonlyMap<string, unknown>): KeysRequest {
  const identifier = input.get('identifier');
  if (door.path !== '' && !/^[0-9A-Za-z]{8}$/.test(String(identifier))) throw noSuchKey();
  const query = Object.entries(door.query ?? {}).map(([parameter, [name]]) => {
    const value = input.get(name) ?? null;
    return [parameter, value === null ? undefined : typedText(factsOf(shape[name] as z.ZodType).kind, value).join(',')];
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

const changeKey = async (host: AskedHost, request: KeysRequest): Promise<Outcome> => {
  const { body } = await askHost(host, { ...request, answer: Key });
  return { identifier: body.identifier, noticeIds: [], warning: null };
};

/** Sends the request of an operation and returns its output, by the kind of its answer. */
const ANSWERS: Readonly<Record<JsonDoor['answers'], (host: AskedHost, request: KeysRequest) => Promise<unknown>>> = {
  key: changeKey,
  'new key': changeKey,
  'key with history': async (host, request) => {
    const { history, ...key } = (await askHost(host, { ...request, answer: KeyWithHistory })).body;
    return { key, history };
  },
  usage: async (host, request) => (await askHost(host, { ...request, answer: KeyUsage })).body,
  list: listAt,
};

/**
 * Lists as many keys as are asked for, or all that match, page by page, each once. A key that is decided on between two
 * pages is in both, first among the pending ones; its later version is listed.
 */
async function listAt(host: AskedHost, request: KeysRequest): Promise<ListOutput> {
  if (request.query?.limit !== undefined) {
    const { keys, lastUses, next } = (await askHost(host, { ...request, answer: KeyList })).body;
    return { keys, lastUses: new Map(Object.entries(lastUses).map(([key, at]) => [key, Date.parse(at)])), next };
  }
  const keys = new Map<string, KeyView>();
  const lastUses = new Map<string, number>();
  for await (const page of askPages(host, { ...request, answer: KeyList })) {
    for (const key of page.keys) {
      keys.delete(key.identifier);
      keys.set(key.identifier, key);
    }
    for (const [identifier, at] of Object.entries(page.lastUses)) lastUses.set(identifier, Date.parse(at));
  }
  return { keys: [...keys.values()], lastUses, next: null };
}
