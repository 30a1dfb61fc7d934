import { describe, expect, test } from 'bun:test';
import { localKeys } from '../cli/keys/local-keys.ts';
import { remoteKeys } from '../cli/keys/remote/remote-keys.ts';
import { formFields } from '../server/portal/requests/operation-form.ts';
import { AppError } from '../shared/errors.ts';
import { factsOf, formNameOf } from '../shared/keys/fields/input-facts.ts';
import { typedText } from '../shared/keys/fields/input-text.ts';
import { keyHistory, showKey } from '../shared/keys/view.ts';
import { type AnyOperation, type JsonDoor, queryInputs } from '../shared/operations/entry.ts';
import type { Reach } from '../shared/operations/who.ts';
import { ALL_OPERATIONS } from '../shared/operations.ts';
import type { Signed } from '../shared/sessions-file/whose.ts';
import { ownerToSign } from '../shared/sign-ins/binding.ts';
import { normaliseText } from '../shared/text.ts';
import { importLines } from './support/import.ts';
import { DESCRIPTION, keyIn } from './support/keys.ts';
import { withPasskey } from './support/portal/admin-pages.ts';
import { call, personTokenFor, tokenFor } from './support/portal/manage.ts';
import { fetchPage, type PageAnswer, plainNumbers, signInOwner, unescaped } from './support/portal/pages.ts';
import { remoteWorld } from './support/portal/remote.ts';

// Every operation of the table, by every role, on an own key, another's and none, through every door: who may do what is said
// in the table, and each door goes by it. A new entry is tried without a line here.

const { access, world, server, grace, adminToken } = await remoteWorld();
const deps = { ...access, clock: world.clock };
const backendToken = tokenFor(access);

const UNKNOWN = '00000000';
const PLACES = ['own', 'another’s', 'none'] as const;
type Place = (typeof PLACES)[number];

/** What is sent of each input, where the operation has it. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  name: 'Renamed',
  description: DESCRIPTION,
  permissions: ['api.lookup'],
  rateLimits: [{ quota: 7, windowSeconds: 60 }],
  reason: 'It leaked.',
  days: 1,
};

let lastId = 100;

/** An owner with a key in a state from which the operation is possible, and another one with such a key. */
async function peopleFor({ from, name }: AnyOperation, samples = SAMPLES) {
  const [own, other] = [++lastId, ++lastId];
  await importLines(
    access,
    [own, other].map((id) => ({ id, username: `user${id}`, email: `user${id}@example.org` })),
  );
  const keyOf = (id: number) => (name === 'request' ? UNKNOWN : keyIn(from?.[0] ?? 'Active', deps, `user${id}`));
  return {
    cookie: signInOwner(access, own),
    token: personTokenFor(access, ownerToSign(access, own) as Signed),
    about: {
      own: { identifier: await keyOf(own), profile: `user${own}`, samples },
      'another’s': { identifier: await keyOf(other), profile: `user${other}`, samples },
      none: { identifier: UNKNOWN, profile: 'nobody', samples },
    },
  };
}

type About = { identifier: string; profile: string; samples: typeof SAMPLES };

/** The input of an operation on a key, or for a profile where it is about none. */
function inputOf({ input }: AnyOperation, about: About): Record<string, unknown> {
  const values = {
    ...about.samples,
    ...('identifier' in input.shape ? { identifier: about.identifier } : { profile: about.profile }),
  };
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in input.shape));
}

/** Everything that an operation could have changed. */
const traces = () =>
  JSON.stringify(
    ['api_keys', 'key_events', 'key_attempts'].map((table) => deps.db.$client.query(`SELECT * FROM ${table}`).all()),
  );

/** How it went: `done`, or the code of the refusal with all that it says. */
type End = { code: string; said: string };

/** What the table says of somebody who asks for it here, with an assertion or without. */
function wanted(reach: Reach, place: Place, hasAsserted: boolean): string {
  if (reach === 'none') return 'forbidden';
  if (place === 'none' || (place !== 'own' && reach.startsWith('own'))) return 'not_found';
  return reach === 'all, asserted' && !hasAsserted ? 'decision_needed' : 'done';
}

async function endOfCall(asked: Promise<unknown>): Promise<End> {
  try {
    await asked;
    return { code: 'done', said: '' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { code: error.code, said: error.message };
  }
}

async function byJson(operation: AnyOperation, door: JsonDoor, token: string | null, about: About): Promise<End> {
  const input = inputOf(operation, about);
  const parameters = queryInputs(operation.input, door).filter(([, name]) => name in input);
  const query = new URLSearchParams(
    parameters.map(([parameter, name]): [string, string] => [parameter, String(input[name])]),
  );
  const path = `/manage/v1/keys${door.path.replace(':identifier', about.identifier)}?${query}`;
  const body = Object.fromEntries((door.body ?? []).filter((name) => name in input).map((name) => [name, input[name]]));
  const init = door.method === 'GET' ? {} : { method: door.method, body };
  const answer = await call(server, path.replace(/\?$/, ''), token, init);
  return { code: answer.headers.get('x-error-code') ?? 'done', said: answer.ok ? '' : await answer.text() };
}

/** A page as a browser gets it, over the socket. */
async function page(path: string, cookie: string | null, form?: [string, string][]): Promise<PageAnswer> {
  const answer = await fetchPage(server, path, {
    headers: cookie === null ? {} : { cookie },
    ...(form && { method: 'POST', body: new URLSearchParams(form).toString() }),
  });
  const { status, headers } = answer;
  return { status, headers: [...headers], body: await answer.text(), refusal: headers.get('x-error-code') };
}

const endOfPage = ({ status, body, refusal }: PageAnswer): End => {
  return { code: refusal ?? (status === 303 ? 'done' : String(status)), said: refusal === null ? '' : body };
};

function fieldsOf(operation: AnyOperation, kind: 'owner' | 'admin', { samples }: About): [string, string][] {
  return formFields(operation, kind).flatMap(([input, schema]) =>
    typedText(factsOf(schema).kind, samples[input]).map((text): [string, string] => [formNameOf(input, schema), text]),
  );
}

const shownIn = ({ body }: PageAnswer) => /name="shown" value="([^"]+)"/.exec(body)?.[1] ?? '';

/** Decides on the page of a key: shows it, sends the form, and confirms by the passkey where one is asked for. */
async function byDecision(operation: AnyOperation, cookie: string | null, about: About): Promise<End> {
  const { identifier } = about;
  const path = `/developers/admin/keys/${identifier}`;
  const shown = shownIn(await page(path, cookie));
  const form: [string, string][] = [
    ['operation', operation.name],
    ...fieldsOf(operation, 'admin', about),
    ['shown', shown],
  ];
  const asked = await page(`${path}/decide`, cookie, form);
  if (asked.status !== 200) return endOfPage(asked);
  return endOfPage(await page(`${path}/decide`, cookie, withPasskey(asked, grace.authenticator)));
}

async function byOwnerPage(operation: AnyOperation, path: string, cookie: string | null, about: About): Promise<End> {
  const place = `/developers/keys/${about.identifier}/${path}`;
  const shown = shownIn(await page(place, cookie));
  return endOfPage(await page(place, cookie, [...fieldsOf(operation, 'owner', about), ['shown', shown]]));
}

/** Waits until the history of a key has the event of an operation, which approvals store once the mail is out. */
async function expectStored({ event }: AnyOperation, { identifier }: About): Promise<void> {
  if (event === null || identifier === UNKNOWN) return;
  const deadline = performance.now() + 10_000;
  const events = () => keyHistory(deps, identifier).map((entry) => entry.event);
  while (!events().includes(event) && performance.now() < deadline) await Bun.sleep(10);
  expect(events()).toContain(event);
}

/** Tries a door with an own key, another's and none; what may not be seen is refused in the words of what does not exist. */
async function tryPlaces(
  operation: AnyOperation,
  { about }: Awaited<ReturnType<typeof peopleFor>>,
  wantedAt: (place: Place) => string,
  act: (about: About) => Promise<End>,
): Promise<void> {
  const nothing = await act(about.none);
  for (const place of PLACES) {
    const before = traces();
    const { code, said } = await act(about[place]);
    expect([place, code]).toEqual([place, wantedAt(place)]);
    if (code === 'done') await expectStored(operation, about[place]);
    else expect([place, traces()]).toEqual([place, before]);
    const plain = (text: string) => text.replaceAll(about[place].identifier, UNKNOWN);
    if (code === 'not_found' || code === 'forbidden') expect([place, plain(said)]).toEqual([place, nothing.said]);
  }
}

const LIMIT_MS = 60_000;

/** How whoever a page is not for is refused there. */
const REFUSED_ON_PAGE = { owner: 'forbidden', admin: 'forbidden', platform: 'signed_out', nobody: 'signed_out' };

const operator = { kind: 'operator', name: 'root' } as const;

/** Declares a test of a door, where the operation has that door: a test of one that it has not would count as skipped. */
function testAt(hasDoor: boolean, name: string, act: () => Promise<void>): void {
  if (hasDoor) test(name, act, LIMIT_MS);
}

describe.each(ALL_OPERATIONS.map((operation) => [operation.name, operation] as const))('%s', (_, operation) => {
  const { who, doors } = operation;
  const { json, page: kindOfPage, ownerPage, command } = doors;

  testAt(command !== null, 'on the box, by the operator', async () => {
    const people = await peopleFor(operation);
    const { perform } = localKeys(deps, operator);
    await tryPlaces(
      operation,
      people,
      (place) => wanted(who.operator, place, true),
      (about) => endOfCall(perform(operation, inputOf(operation, about))),
    );
  });

  for (const role of ['owner', 'admin', 'platform', 'nobody'] as const) {
    testAt(json !== null, `by JSON and by profilectl elsewhere, by ${role}`, async () => {
      // Requests without a token are failed log-ins, which are counted.
      world.clock.advance(60_000);
      for (const door of ['JSON', 'profilectl'] as const) {
        const people = await peopleFor(operation);
        const token = { owner: people.token, admin: adminToken, platform: backendToken, nobody: null }[role];
        if (door === 'profilectl' && token === null) continue;
        const end = (place: Place) => (role === 'nobody' ? 'no_credentials' : wanted(who[role], place, false));
        const { perform } = remoteKeys({ url: server.url, token });
        await tryPlaces(operation, people, end, (about) =>
          door === 'JSON'
            ? byJson(operation, json as JsonDoor, token, about)
            : endOfCall(perform(operation, inputOf(operation, about))),
        );
      }
    });

    testAt(role !== 'platform' && kindOfPage === 'decision', `on the page of the key, by ${role}`, async () => {
      const people = await peopleFor(operation);
      const cookie = { owner: people.cookie, admin: grace.cookie, nobody: null, platform: null }[role];
      const end = (place: Place) => (role === 'admin' ? wanted(who.admin, place, true) : REFUSED_ON_PAGE[role]);
      await tryPlaces(operation, people, end, (about) => byDecision(operation, cookie, about));
    });

    testAt(role !== 'platform' && ownerPage !== undefined, `on the owner’s page of it, by ${role}`, async () => {
      const people = await peopleFor(operation);
      const cookie = { owner: people.cookie, admin: grace.cookie, nobody: null, platform: null }[role];
      const end = (place: Place) => (role === 'owner' ? wanted(who.owner, place, true) : REFUSED_ON_PAGE[role]);
      await tryPlaces(operation, people, end, (about) =>
        byOwnerPage(operation, ownerPage?.path as string, cookie, about),
      );
    });
  }
});

/** Texts that are trimmed, refused or stored in another form than they were typed in. */
const TEXTS = [' \t Text\r\n', 'a\r\nb\rc\n', '   ', 'a\u0007b', '😀'.repeat(255), 'x'.repeat(256), 'x'.repeat(2_001)];

/** The sentence of a refusal, as JSON or a page has it. */
function sentenceOf(said: string): string {
  if (said.startsWith('{')) return (JSON.parse(said) as { error: string }).error;
  const [, fault] = /<div class="summary"[\s\S]*?<a [^>]*>([^<]*)</.exec(said) ?? [];
  return fault === undefined ? said : plainNumbers(unescaped(fault));
}

const WITH_TEXT = ALL_OPERATIONS.flatMap((operation) =>
  Object.entries(operation.input.shape)
    .filter(
      ([input, schema]) =>
        'identifier' in operation.input.shape && input in SAMPLES && /^lines?$/.test(factsOf(schema).kind),
    )
    .map(([input]) => [operation.name, input, operation] as const),
);

describe.each(WITH_TEXT)('%s: the same %s has the same verdict and is stored alike', (_, input, operation) => {
  const { who, doors } = operation;
  /** The doors of the operator and of admins, and those of owners: what may be left out differs. */
  const groups: Record<string, (people: Awaited<ReturnType<typeof peopleFor>>) => Promise<End>>[] = [
    {
      box: ({ about: { own } }) => endOfCall(localKeys(deps, operator).perform(operation, inputOf(operation, own))),
      ...(doors.page === 'decision' && {
        page: ({ about: { own } }) => byDecision(operation, grace.cookie, own),
      }),
    },
    {
      ...(who.owner !== 'none' && {
        JSON: ({ token, about: { own } }) => byJson(operation, doors.json as JsonDoor, token, own),
        profilectl: ({ token, about: { own } }) =>
          endOfCall(remoteKeys({ url: server.url, token }).perform(operation, inputOf(operation, own))),
        page: ({ cookie, about: { own } }) => byOwnerPage(operation, doors.ownerPage?.path as string, cookie, own),
      }),
    },
  ];

  test.each(TEXTS.map((text) => [JSON.stringify(text.slice(0, 12)), text.length, text] as const))(
    '%s, %i long',
    async (_shown, _length, text) => {
      for (const group of groups) {
        const verdicts = new Map<string, unknown>();
        for (const [door, act] of Object.entries(group)) {
          const people = await peopleFor(operation, { ...SAMPLES, [input]: text });
          const { identifier } = people.about.own;
          const { code, said } = await act(people);
          const entry = keyHistory(deps, identifier).findLast(({ event }) => event === operation.event);
          verdicts.set(door, code === 'done' ? entry?.detail : sentenceOf(said));
          if (code === 'done')
            expect(showKey(deps, identifier)).toMatchObject(input === 'name' ? { name: normaliseText(text) } : {});
        }
        const [first] = verdicts.values();
        for (const [door, verdict] of verdicts) expect([door, verdict]).toEqual([door, first]);
      }
    },
    LIMIT_MS,
  );
});
