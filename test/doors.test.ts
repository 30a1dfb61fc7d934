import { describe, expect, test } from 'bun:test';
import { Option } from 'commander';
import type { z } from 'zod';
import { performAndSend } from '../cli/keys/context.ts';
import { readFlags } from '../cli/keys/inputs.ts';
import { longFields } from '../server/portal/admin/decision-forms.ts';
import { formFields } from '../server/portal/requests/operation-form.ts';
import { AppError, faultOf } from '../shared/errors.ts';
import { factsOf, formNameOf, typedText } from '../shared/keys/inputs.ts';
import { keyRevision } from '../shared/keys/record.ts';
import { keyHistory, showKey } from '../shared/keys/view.ts';
import { type AnyOperation, flaggedInputs, type Who } from '../shared/operations/entry.ts';
import { ALL_OPERATIONS, DECISIONS, REQUEST_DECISIONS } from '../shared/operations.ts';
import { normaliseText } from '../shared/text.ts';
import { copyKey, DESCRIPTION, keyIn, keysListed } from './support/keys.ts';
import {
  adminWorld,
  fetchPage,
  type PageAnswer,
  plainNumbers,
  serverOfPages,
  signInAdmin,
  signInOwner,
} from './support/pages.ts';
import { insertProfile } from './support/profiles.ts';
import { unescaped } from './support/readable.ts';

// Every operation of the table, performed by every role on their own key, another's and an unknown one, through every
// door. The table says who may do what, and each door must agree. A new entry needs no line here. The pages are tried by those
// for whom they are: owner-access.test.ts and admin-access.test.ts in test/server/portal/ try others on every page.

const world = await adminWorld();
const { access } = world;
const grace = await signInAdmin(world, 'Grace');
const server = await serverOfPages(world);
const deps = { ...access, clock: world.clock };

const UNKNOWN = '00000000';
const WHOSE_KEYS = ['none', 'own', 'another’s'] as const;
type Whose = (typeof WHOSE_KEYS)[number];

/** The value of each input, if the operation has it. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  name: 'Renamed',
  description: DESCRIPTION,
  permissions: ['api.lookup'],
  projectUrl: 'https://example.org/badges',
  expectedUsage: 'A few a minute.',
  rateLimits: [{ quota: 7, windowSeconds: 60 }],
  reason: 'It leaked.',
  days: 1,
};

/** A value as people type it. */
class Typed {
  constructor(readonly text: string) {}
}

function textsOf(schema: z.core.$ZodType, value: unknown): string[] {
  return value instanceof Typed ? [value.text] : typedText(factsOf(schema).kind, value);
}

const operator = { kind: 'operator', name: 'root' } as const;

/** The operation that has its own page. */
const REQUEST: AnyOperation | undefined = ALL_OPERATIONS.find(({ name }) => name === 'request');

let lastId = 100;

/** An Active key, of which copies are made. */
const active = await keyIn('Active', deps, 'ada');

/** Makes a key of a new profile, in a state that allows the operation. */
async function keyFor({ from }: AnyOperation): Promise<{ id: number; profile: string; identifier: string }> {
  const id = insertProfile(access.db, { id: ++lastId });
  const [profile, state] = [`user${id}`, from?.[0] ?? 'Active'];
  if (state !== 'Active') return { id, profile, identifier: await keyIn(state, deps, profile) };
  const identifier = `copy${String(id).padStart(4, '0')}`;
  copyKey(access.db, active, identifier, id);
  return { id, profile, identifier };
}

/** A signed-in owner with a key in a state that allows the operation. */
async function ownerFor(operation: AnyOperation, samples = SAMPLES) {
  const own = { ...(await keyFor(operation)), samples };
  return {
    cookie: signInOwner(access, own.id),
    own,
  };
}

/** An owner with a key in a state that allows the operation, and another owner with such a key. */
async function peopleFor(operation: AnyOperation) {
  const { own, ...signedIn } = await ownerFor(operation);
  return {
    ...signedIn,
    about: {
      own,
      'another’s': { ...(await keyFor(operation)), samples: SAMPLES },
      none: { identifier: UNKNOWN, profile: 'nobody', samples: SAMPLES },
    },
  };
}

/** People for operations that change nothing. */
const IDLE = new Map<AnyOperation, ReturnType<typeof peopleFor>>();

/** People for an operation that should end so. Tests share those whose keys it can't change, as it is refused or only reads. */
function peopleFacing(operation: AnyOperation, wantedFor: (whose: Whose) => string) {
  if (operation.event !== null && WHOSE_KEYS.some((whose) => wantedFor(whose) === 'done')) return peopleFor(operation);
  const people = IDLE.get(operation) ?? peopleFor(operation);
  IDLE.set(operation, people);
  return people;
}

type About = { identifier: string; profile: string; samples: typeof SAMPLES };

/** The input of an operation on a key, or of a request for its replacement. */
function inputOf({ input }: AnyOperation, about: About): Record<string, unknown> {
  const { identifier, profile, samples } = about;
  const values = {
    ...('identifier' in input.shape ? { identifier } : { successorOf: identifier }),
    ...samples,
    profile,
  };
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in input.shape));
}

/** Performs an operation by a command, with flags. */
function byCommand(operation: AnyOperation, about: About): Promise<End> {
  const input = inputOf(operation, about);
  const flags = flaggedInputs(operation).flatMap(([name, schema]) => {
    const { flag } = factsOf(schema);
    return flag === null || input[name] === undefined
      ? []
      : [[new Option(...flag).attributeName(), textsOf(schema, input[name])] as const];
  });
  return endOfCall(async () => {
    const given = readFlags(operation, Object.fromEntries(flags), world.clock.nowMs());
    const named = { ...given, ...('identifier' in input && { identifier: input.identifier }) };
    return performAndSend(deps, operator, operation, named);
  });
}

let read = { version: '', text: '' };

/**
 * Everything that an operation could change; the server meanwhile marks mails as sent. It is read again only if any connection
 * has written.
 */
function traces(): string {
  const { $client } = deps.db;
  const all = (sql: string) => $client.query(sql).all();
  const version = JSON.stringify([all('PRAGMA data_version'), all('SELECT total_changes()')]);
  const stored = ['* FROM api_keys', '* FROM events', '* FROM key_attempts', 'id, kind FROM mails'];
  if (version !== read.version) read = { version, text: JSON.stringify(stored.map((what) => all(`SELECT ${what}`))) };
  return read.text;
}

/** The outcome: `done`, or the code of the refusal with its full text. */
type End = { code: string; said: string };

/** The outcome that the table promises. */
function wanted(reach: Who['owner'], whose: Whose): string {
  if (reach === 'none') return 'forbidden';
  if (whose === 'none' || (whose !== 'own' && reach.startsWith('own'))) return 'not_found';
  return 'done';
}

async function endOfCall(ask: () => Promise<unknown>): Promise<End> {
  try {
    await ask();
    return { code: 'done', said: '' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { code: error.code, said: error.message };
  }
}

/** Requests a page as a browser does, over the socket. */
async function page(path: string, cookie: string, form?: [string, string][]): Promise<PageAnswer> {
  const answer = await fetchPage(server, path, {
    headers: { cookie },
    ...(form && { method: 'POST', body: new URLSearchParams(form).toString() }),
  });
  const { status, headers } = answer;
  return { status, headers: [...headers], body: await answer.text(), refusal: headers.get('x-error-code') };
}

const endOfPage = ({ status, body, refusal }: PageAnswer): End => {
  return { code: refusal ?? (status === 303 ? 'done' : String(status)), said: refusal === null ? '' : body };
};

/** The fields of a form as a browser sends them: in texts, every line end is CRLF. */
function fieldsOf(operation: AnyOperation, kind: 'owner' | 'admin', about: About): [string, string][] {
  const input = inputOf(operation, about);
  return formFields(operation, kind).flatMap(([name, schema]) =>
    textsOf(schema, input[name]).map((text): [string, string] => [
      formNameOf(name, schema),
      text.replaceAll(/\r\n?|\n/g, '\r\n'),
    ]),
  );
}

const shownIn = ({ body }: PageAnswer) => /name="shown" value="([^"]+)"/.exec(body)?.[1] ?? '';

/** Decides on the page of a key: reads it, and sends the form. */
async function byDecision(operation: AnyOperation, cookie: string, about: About): Promise<End> {
  const path = `/developers/admin/keys/${about.identifier}`;
  const shown = shownIn(await page(path, cookie));
  const fields = fieldsOf(operation, 'admin', about);
  return endOfPage(await page(`${path}/decide`, cookie, [['operation', operation.name], ...fields, ['shown', shown]]));
}

/** Sends the form on the owner's page of an operation, or the one with which owners request keys. */
async function byOwnersForm(operation: AnyOperation, cookie: string, about: About): Promise<End> {
  const { ownerPage } = operation;
  const fields = fieldsOf(operation, 'owner', about);
  if (ownerPage === undefined) {
    const form = fields.filter(([name]) => !name.startsWith('profile'));
    return endOfPage(await page('/developers/keys/new', cookie, form));
  }
  const place = `/developers/keys/${about.identifier}/${ownerPage.path}`;
  return endOfPage(await page(place, cookie, [...fields, ['shown', shownIn(await page(place, cookie))]]));
}

const QUEUE = '/developers/admin';

/** Decides on a request that is chosen in the queue together with another one. */
async function byQueue(operation: AnyOperation, cookie: string, about: About, other: string): Promise<End> {
  const isThere = faultOf(() => showKey(deps, about.identifier)) === null;
  const chosen = [...(isThere ? [other] : []), about.identifier].flatMap((identifier): [string, string][] => {
    return [
      ['chosen', identifier],
      ['shown', `${identifier} ${isThere ? keyRevision(deps.db, identifier) : 'unknown'}`],
    ];
  });
  const texts = longFields(operation).map(([name, schema]): [string, string] => {
    return [formNameOf(name, schema), String(about.samples[name])];
  });
  const done = await page(`${QUEUE}/decide`, cookie, [...chosen, ...texts, [operation.name, '']]);
  if (done.status !== 303) return endOfPage(done);
  const [, outcomes = ''] = done.headers.find(([name]) => name === 'location') ?? [];
  const ends = new URL(outcomes, server.url).searchParams;
  if (!ends.get('decided')?.includes(about.identifier)) return { code: 'refused', said: '' };
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) {
    const { body } = await page(outcomes, cookie);
    const [, kinds] = /data-result="over" data-kinds="([^"]*)"/.exec(body) ?? [];
    if (kinds !== undefined) return { code: /^(mailed|rejected),\1$/.test(kinds) ? 'done' : kinds, said: '' };
    await Bun.sleep(10);
  }
  throw new Error('The outcomes are not known.');
}

/** Waits until the history of a key has the event of an operation, which approvals store after the mail was sent. */
async function expectStored({ event }: AnyOperation, { identifier }: About): Promise<void> {
  if (event === null || identifier === UNKNOWN) return;
  const deadline = performance.now() + 10_000;
  const events = () => keyHistory(deps, identifier).map((entry) => entry.event);
  while (!events().includes(event) && performance.now() < deadline) await Bun.sleep(10);
  expect(events()).toContain(event);
}

/** Tries one's own key, another's and an unknown one. What may not be seen is refused like what does not exist. */
async function tryKeys(
  operation: AnyOperation,
  { about }: Awaited<ReturnType<typeof peopleFor>>,
  wantedFor: (whose: Whose) => string,
  act: (about: About) => Promise<End>,
): Promise<void> {
  let nothing = '';
  for (const whose of WHOSE_KEYS) {
    const before = traces();
    const { code, said } = await act(about[whose]);
    if (whose === 'none') nothing = said;
    expect([whose, code]).toEqual([whose, wantedFor(whose)]);
    if (code === 'done') await expectStored(operation, about[whose]);
    else expect([whose, traces()]).toEqual([whose, before]);
    const plain = (text: string) => text.replaceAll(about[whose].identifier, UNKNOWN);
    if (code === 'not_found' || code === 'forbidden') expect([whose, plain(said)]).toEqual([whose, nothing]);
  }
}

const LIMIT_MS = 60_000;

/** Declares a test of a door if the operation has that door; otherwise the test would count as skipped. */
function testAt(hasDoor: boolean, name: string, act: () => Promise<void>): void {
  if (hasDoor) test(name, act, LIMIT_MS);
}

describe.each(ALL_OPERATIONS.map((operation) => [operation.name, operation] as const))('%s', (_, operation) => {
  const { who, ownerPage } = operation;

  test('on the server itself, by the operator', async () => {
    const end = (whose: Whose) => wanted(who.operator, whose);
    const people = await peopleFacing(operation, end);
    await tryKeys(operation, people, end, (about) => byCommand(operation, about));
  });

  testAt(DECISIONS.includes(operation), 'on the page of the key, by admin', async () => {
    const end = (whose: Whose) => wanted(who.admin, whose);
    const people = await peopleFacing(operation, end);
    await tryKeys(operation, people, end, (about) => byDecision(operation, grace.cookie, about));
  });

  testAt(ownerPage !== undefined || operation === REQUEST, 'on the owner’s page of it, by owner', async () => {
    const end = (whose: Whose) => wanted(who.owner, whose);
    const people = await peopleFacing(operation, end);
    await tryKeys(operation, people, end, (about) => byOwnersForm(operation, people.cookie, about));
  });

  testAt(REQUEST_DECISIONS.includes(operation), 'in the queue, by admin', async () => {
    const end = (whose: Whose) => (whose === 'none' ? 'refused' : wanted(who.admin, whose));
    const people = await peopleFacing(operation, end);
    const others = new Map<About, string>();
    for (const about of Object.values(people.about)) others.set(about, (await keyFor(operation)).identifier);
    await tryKeys(operation, people, end, (about) => byQueue(operation, grace.cookie, about, others.get(about) ?? ''));
  });
});

/** The sentence of a refusal by a command or on a page. */
function sentenceOf(said: string): string {
  const [, fault] =
    /(?:<div class="summary"[\s\S]*?<li>|<h1>Not found<\/h1><p>)(?:<a [^>]*>)?([^<]*)</.exec(said) ?? [];
  return fault === undefined ? said : plainNumbers(unescaped(fault));
}

const LIMITS = [' 60/1m,, 5/1d\n', '1000001/1m'];

// An empty time has no flag.
const TIMES = [' 90d ', '2126-02-30'];

/** A value of a field that is trimmed, sorted or stored in a different form, and one that is refused; others are tried at the rule. */
function oddValues(input: string, schema: z.core.$ZodType): unknown[] {
  const { kind, bounds } = factsOf(schema);
  if (kind === 'rate limits') return LIMITS.map((text) => new Typed(text));
  if (kind === 'time') return TIMES.map((text) => new Typed(text));
  if (input === 'successorOf') return [UNKNOWN];
  if (kind === 'permissions') return [['api.leaderboard', 'api.lookup', 'api.lookup'], []];
  if (bounds === undefined || kind === 'hidden') return [];
  const good = String(SAMPLES[input]);
  return [` \r\n${good}\r\nCRLF\rCR\nLF\r\r\n `, kind === 'url' ? 'ftp://example.org' : `${good}\u0007`];
}

const WITH_VALUES = ALL_OPERATIONS.filter(({ event }) => event !== null).flatMap((operation) =>
  Object.entries(operation.input.shape).flatMap(([input, schema]) =>
    oddValues(input, schema).map((value) => {
      const shown = JSON.stringify(value instanceof Typed ? value.text : value);
      return [operation.name, input, shown.slice(0, 40), shown.length, { operation, value }] as const;
    }),
  ),
);

/** What was stored by a finished operation: what the key shows, and the detail in its history. */
function storedOf(operation: AnyOperation, { identifier, profile }: About): unknown {
  const made =
    operation === REQUEST
      ? (keysListed(deps, { states: ['pending'] }).find((key) => key.profile === profile)?.identifier ?? '')
      : identifier;
  const { name, description, projectUrl, expectedUsage, requestedPermissions, ...key } = showKey(deps, made);
  const { permissions, rateLimits, expiresAt, successorOf } = key;
  const {
    successorOf: _,
    attempt: __,
    ...detail
  } = keyHistory(deps, made).findLast(({ event }) => event === operation.event)?.detail ?? {};
  const request = { name, description, projectUrl, expectedUsage, requestedPermissions };
  return { ...request, permissions, rateLimits, expiresAt, isSuccessor: successorOf !== null, detail };
}

test.each(WITH_VALUES)(
  '%s: every door accepts or refuses the same %s and stores it alike: %s, %i long',
  async (_, input, _shown, _length, { operation, value }) => {
    const { who } = operation;
    const isAskedInQueue =
      REQUEST_DECISIONS.includes(operation) && longFields(operation).some(([name]) => name === input);
    /** The doors of the operator and of admins, and those of owners; they differ in what may be omitted. */
    const groups: Record<string, (owner: Awaited<ReturnType<typeof ownerFor>>) => Promise<End>>[] = [
      {
        box: ({ own }) => byCommand(operation, own),
        ...(DECISIONS.includes(operation) && { page: ({ own }) => byDecision(operation, grace.cookie, own) }),
        ...(isAskedInQueue && {
          queue: async ({ own }) => byQueue(operation, grace.cookie, own, (await keyFor(operation)).identifier),
        }),
      },
      {
        ...(who.owner !== 'none' && {
          page: ({ cookie, own }) => byOwnersForm(operation, cookie, own),
        }),
      },
    ];
    // An admin may start 30 decisions a minute.
    world.clock.advance(10_000);
    for (const group of groups) {
      const verdicts: Record<string, unknown> = {};
      for (const [door, act] of Object.entries(group)) {
        const owner = await ownerFor(operation, { ...SAMPLES, [input]: value });
        const { own } = owner;
        const { code, said } = await act(owner);
        if (code === 'done') await expectStored(operation, own);
        verdicts[door] = code === 'done' ? storedOf(operation, own) : sentenceOf(said).replace(own.identifier, UNKNOWN);
        // Stored text is already in its final form.
        if (code === 'done' && typeof value === 'string')
          expect(JSON.stringify(verdicts[door])).toContain(JSON.stringify(normaliseText(value)).slice(1, -1));
      }
      const [first] = Object.values(verdicts);
      expect(verdicts).toEqual(Object.fromEntries(Object.keys(verdicts).map((door) => [door, first])));
    }
  },
  LIMIT_MS,
);
