import { expect, test } from 'bun:test';
import { Option } from 'commander';
import type { z } from 'zod';
import { performAndSend } from '../cli/keys/context.ts';
import { readFlags } from '../cli/keys/inputs.ts';
import { longFields } from '../server/portal/admin/decision-forms.ts';
import { formFields } from '../server/portal/requests/operation-form.ts';
import { AppError } from '../shared/errors.ts';
import { factsOf, formNameOf, typedText } from '../shared/keys/inputs.ts';
import { keyRevision } from '../shared/keys/record.ts';
import { keyHistory, showKey } from '../shared/keys/view.ts';
import { type AnyOperation, flaggedInputs } from '../shared/operations/entry.ts';
import { ALL_OPERATIONS, DECISIONS, REQUEST_DECISIONS } from '../shared/operations.ts';
import { normaliseText } from '../shared/text.ts';
import { unescaped } from './support/forms.ts';
import { INPUT_SAMPLES, keyIn, keysListed } from './support/keys.ts';
import { type Answer, adminPages, signInOwner } from './support/pages.ts';
import { insertProfile } from './support/profiles.ts';
import { eventually, onBox } from './support/world.ts';

// Every operation of the table through every door: what people type is accepted or refused, and stored, alike. A new entry needs
// no line here. Who may do what is tried in test/shared/operations.test.ts and test/server/portal/access.test.ts.

const { access, clock, get, post, grace } = await adminPages();
const deps = { ...access, clock };

const UNKNOWN = '00000000';

/** A value as people type it. */
class Typed {
  constructor(readonly text: string) {}
}

function textsOf(schema: z.core.$ZodType, value: unknown): string[] {
  return value instanceof Typed ? [value.text] : typedText(factsOf(schema).kind, value);
}

let lastId = 100;

type About = { id: number; identifier: string; profile: string };

/** Makes a key of a new profile, in a state that allows the operation. */
async function keyFor({ from }: AnyOperation): Promise<About> {
  const id = insertProfile(access.db, { id: ++lastId });
  const profile = `user${id}`;
  return { id, profile, identifier: await keyIn(from?.[0] ?? 'Active', deps, profile) };
}

/** What an operation on a key, or a request for its replacement, is given. */
function inputOf({ input }: AnyOperation, { identifier, profile }: About, odd: object): Record<string, unknown> {
  const about = 'identifier' in input.shape ? { identifier } : { successorOf: identifier, profile };
  const values = { ...INPUT_SAMPLES, ...about, ...odd };
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in input.shape));
}

/** A door: performs an operation on a key, with these inputs instead of the usual ones. Returns why it is refused, or null. */
type Door = (operation: AnyOperation, about: About, odd: object) => Promise<string | null>;

const byCommand: Door = async (operation, about, odd) => {
  const input = inputOf(operation, about, odd);
  const flags = flaggedInputs(operation).flatMap(([name, schema]) => {
    const { flag } = factsOf(schema);
    return flag === null || input[name] === undefined
      ? []
      : [[new Option(...flag).attributeName(), textsOf(schema, input[name])] as const];
  });
  try {
    const given = readFlags(operation, Object.fromEntries(flags), clock.nowMs());
    const named = { ...given, ...('identifier' in input && { identifier: input.identifier }) };
    await performAndSend({ deps, actor: onBox('root') }, operation, named);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
};

/** The sentence of a refused form, without the narrow spaces between thousands, which commands do not print. */
function sentenceOf({ status, body }: Answer): string | null {
  if (status === 303) return null;
  const [, fault = body] =
    /(?:<div class="summary"[\s\S]*?<li>|<h1>Not found<\/h1><p>)(?:<a [^>]*>)?([^<]*)</.exec(body) ?? [];
  return unescaped(fault).replace(/(?<=\d)\u202f(?=\d{3})/g, '');
}

/** The fields of a form as a browser sends them: in texts, every line end is CRLF. */
function fieldsOf(operation: AnyOperation, kind: 'owner' | 'admin', input: Record<string, unknown>) {
  return formFields(operation, kind).flatMap(([name, schema]) =>
    textsOf(schema, input[name]).map((text): [string, string] => [
      formNameOf(name, schema),
      text.replaceAll(/\r\n?|\n/g, '\r\n'),
    ]),
  );
}

const shownIn = ({ body }: Answer) => /name="shown" value="([^"]+)"/.exec(body)?.[1] ?? '';

/** The page of a key, and the form on it. */
const byDecision: Door = async (operation, about, odd) => {
  const path = `/developers/admin/keys/${about.identifier}`;
  const fields = fieldsOf(operation, 'admin', inputOf(operation, about, odd));
  const shown = shownIn(await get(path, grace.cookie));
  const form: [string, string][] = [['operation', operation.name], ...fields, ['shown', shown], ['sure', 'yes']];
  return sentenceOf(await post(`${path}/decide`, form, grace.cookie));
};

/** The owner's page of an operation, or the one with which owners request keys. */
const byOwnersForm: Door = async (operation, about, odd) => {
  const cookie = signInOwner(access, about.id);
  const { profile: _, ...input } = inputOf(operation, about, odd);
  const path = operation.ownerPage === undefined ? 'new' : `${about.identifier}/${operation.ownerPage.path}`;
  const shown = shownIn(await get(`/developers/keys/${path}`, cookie));
  const form: [string, string][] = [...fieldsOf(operation, 'owner', input), ['shown', shown]];
  return sentenceOf(await post(`/developers/keys/${path}`, form, cookie));
};

/** The queue, where a request is chosen together with another one. */
const byQueue: Door = async (operation, about, odd) => {
  const keys = [(await keyFor(operation)).identifier, about.identifier];
  const chosen = keys.flatMap((one): [string, string][] => [
    ['chosen', one],
    ['shown', `${one} ${keyRevision(deps.db, one)}`],
  ]);
  const texts = fieldsOf(operation, 'admin', inputOf(operation, about, odd));
  const form: [string, string][] = [...chosen, ...texts, [operation.name, ''], ['sure', 'yes']];
  return sentenceOf(await post('/developers/admin/decide', form, grace.cookie));
};

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
  if (!(input in INPUT_SAMPLES)) throw new Error(`INPUT_SAMPLES has no ${input}.`);
  const good = String(INPUT_SAMPLES[input]);
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

/** What was stored by an operation: what the key shows, and the detail in its history, which approvals store after the mail. */
async function storedBy({ name, event }: AnyOperation, { identifier, profile }: About): Promise<unknown> {
  const made = name === 'request' ? keysListed(deps, { profile, states: ['pending'] })[0]?.identifier : identifier;
  const found = () => keyHistory(deps, made ?? '').findLast((entry) => entry.event === event);
  const { successorOf: _, attempt: __, ...detail } = (await eventually(found))?.detail ?? {};
  const { description, projectUrl, expectedUsage, requestedPermissions, ...key } = showKey(deps, made ?? '');
  const { permissions, rateLimits, expiresAt, successorOf } = key;
  const request = { name: key.name, description, projectUrl, expectedUsage, requestedPermissions };
  return { ...request, permissions, rateLimits, expiresAt, isSuccessor: successorOf !== null, detail };
}

test.each(WITH_VALUES)(
  '%s: every door accepts or refuses the same %s and stores it alike: %s, %i long',
  async (_, input, _shown, _length, { operation, value }) => {
    const isAskedInQueue =
      REQUEST_DECISIONS.includes(operation) && longFields(operation).some(([name]) => name === input);
    /** The doors of the operator and of admins, and those of owners; they differ in what may be omitted. */
    const groups = [
      [byCommand, ...(DECISIONS.includes(operation) ? [byDecision] : []), ...(isAskedInQueue ? [byQueue] : [])],
      operation.who.owner === 'none' ? [] : [byOwnersForm],
    ];
    // An admin may start 30 decisions a minute.
    clock.advance(10_000);
    for (const group of groups) {
      const verdicts: unknown[] = [];
      for (const act of group) {
        const about = await keyFor(operation);
        const fault = await act(operation, about, { [input]: value });
        const verdict = fault === null ? await storedBy(operation, about) : fault.replace(about.identifier, UNKNOWN);
        verdicts.push(verdict);
        // Stored text is already in its final form.
        if (fault === null && typeof value === 'string')
          expect(JSON.stringify(verdict)).toContain(JSON.stringify(normaliseText(value)).slice(1, -1));
      }
      expect(verdicts).toEqual(verdicts.map(() => verdicts[0]));
    }
  },
);
