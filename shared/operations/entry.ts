import type { z } from 'zod';
import type { Person } from '../actor.ts';
import type { KeyEventName, KeyState } from '../db/key-columns.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { factsOf } from '../keys/fields/input-facts.ts';
import { parseInput } from '../keys/fields/parse-input.ts';
import type { KeyFact } from '../keys/key-version.ts';
import { refuseState } from '../keys/record.ts';
import { type KeyView, showKey } from '../keys/view.ts';

// What an operation is; `shared/operations.ts` is the table of all.

/**
 * Which keys a kind of person may do something with. `all, asserted`: all, each time by an assertion of the admin's
 * passkey for exactly this. `own`: those of the person's own profile; `own, unless banned`: none while it is banned.
 */
export type Reach = 'all' | 'all, asserted' | 'own' | 'own, unless banned' | 'none';

/** Which keys each kind of person may do something with. */
export type Who = Record<Person['kind'], Reach>;

/** What a door hands over for an operation: the names are known, the values are checked by the schema. */
export type Sent<Shape extends z.ZodRawShape> = { readonly [Name in keyof Shape]?: unknown };

/** How a request under `/manage/v1/keys` asks for it. What needs an assertion answers an admin with the key's page instead. */
export type JsonDoor = {
  method: 'GET' | 'POST' | 'PATCH';
  /** What follows `/manage/v1/keys`. */
  path: '' | '/:identifier' | `/:identifier/${string}`;
  operationId: string;
  description: string;
  /** The inputs that the body may have. */
  body?: readonly string[];
  /** The inputs that the query may have, by the names of its parameters, each with what the document says of it. */
  query?: Readonly<Record<string, readonly [input: string, description: string]>>;
  answers: 'key' | 'new key' | 'key with history' | 'list' | 'usage';
};

/** The page on which owners do it with a key of their own, as far as it is another than that of admins. */
export type OwnerPage = {
  /** What follows `/developers/keys/:identifier/`. */
  path: string;
  /** What it brings about, where owners are to be told other than {@link Texts} tells it. */
  consequence?: string;
};

/** The ways in. `page`: admins decide it on the page of the key; `own`: a page of its own, written by hand. */
export type Doors = {
  /** `profilectl keys <verb>`, its examples, and what its help says beside the flags. */
  command: { verb: string; examples: readonly string[]; help?: string } | null;
  page: 'decision' | 'own' | null;
  /** Absent where owners don't do it from the page of a key. */
  ownerPage?: OwnerPage;
  json: JsonDoor | null;
};

/** What people read when they do it. */
export type Texts = {
  /** Above a confirmation, before the identifier: `Approve key`. */
  title: string;
  /** On the button that leads to it. */
  button: string;
  /** In a sentence after "to": `approve this key`. */
  what: string;
  /** What it brings about, below what is confirmed. */
  consequence: string;
  /** The line on the page that is shown next; null where that page says it by itself. */
  done: string | null;
  /** What a command says after Ctrl-C of a key that is in this state now; null for what is said of every operation. */
  interrupted: (key: Pick<KeyView, 'identifier' | 'state'>) => string | null;
};

/** What an act may return that goes on afterwards: the door waits for it, or runs it in the background. */
export type Unfinished = { finish: (signal?: AbortSignal) => Promise<void> };

type Facts = {
  name: string;
  who: Who;
  /** The states in which a key must be; null where any will do, or there is none yet. */
  from: readonly KeyState[] | null;
  /** The state that it brings the key to; null where that stays. */
  to: KeyState | null;
  /** The entry of the key's history that tells of it; null where it changes nothing. */
  event: KeyEventName | null;
  /** What of the key and its profile it is decided on: where that has changed since it was shown, nothing is done. */
  version: readonly KeyFact[];
  /** One sentence, for help and documents. */
  summary: string;
  doors: Doors;
  texts: Texts | null;
  /** Whether what is left out of its input stays as the key has it, so that some of it is enough. */
  keepsRest: boolean;
  /** Whether it ends or refuses something. */
  isDangerous: boolean;
  /** Whether the owner is mailed what was done. */
  isMailed: boolean;
  /** Whether its button is the one that stands out on the page of a key. */
  isMain: boolean;
  /**
   * Null where its act is all of it. Else the act only begins it, and what that returns has to be finished: what the log
   * says of the key, after its identifier, where that was refused or has failed.
   */
  goesOn: { refused: string; failed: string } | null;
};

/** Throws `forbidden` where this kind of person can never do it. */
export function refuseKind({ who }: { who: Who }, kind: Person['kind']): void {
  if (who[kind] === 'none')
    throw new AppError('forbidden', `Only ${who.owner === 'none' ? 'admins' : 'owners'} can do this.`);
}

/** Something that people do with keys. Every door is made of these, and none has rules of its own about who may do what. */
export type Operation<Input extends object, Output> = Facts & {
  /** Of `FIELDS` of `keys/inputs.ts`, each required or not. */
  input: z.ZodObject;
  /** Where a kind of person may leave out less than {@link input} says. */
  inputOf: Partial<Record<Person['kind'], z.ZodObject>>;
  /** What is filled in where nobody has typed anything, by input; what is absent is not asked for of this key. */
  usual(deps: Pick<Deps, 'db' | 'config'>, key: KeyView): Readonly<Record<string, unknown>>;
  /** Throws `usage` where this key can't have this input, as far as the key itself shows it: what is typed is checked by this. */
  refuse(
    key: KeyView,
    input: Readonly<Record<string, unknown>>,
    at: Pick<Deps, 'approvalLeaseMs'> & { nowMs: number },
  ): void;
  /** What is confirmed beside the input: names and values. Throws what {@link check} does. */
  alsoConfirmed(deps: Deps, key: KeyView): readonly (readonly [name: string, value: string])[];
  /** Throws what would refuse it just now, before anybody confirms it. */
  check(deps: Deps, input: { identifier: string; expiresAtMs?: number | null | undefined }): void | Promise<void>;
  /**
   * Checks and trims the input, and does it. Only `perform` calls this, after its checks; throws `usage`, and what the
   * function for it in `keys/` throws.
   */
  act(deps: Deps, actor: Person, input: Input): Output | Promise<Output>;
};

/** An operation whose input is known only when it is asked for. */
export type AnyOperation = Operation<Readonly<Record<string, unknown>>, unknown>;

type Entry<Shape extends z.ZodRawShape, Output> = Pick<Facts, 'name' | 'who' | 'summary'> &
  Partial<Facts & Pick<Operation<object, Output>, 'inputOf' | 'usual' | 'refuse' | 'alsoConfirmed' | 'check'>> & {
    input: z.ZodObject<Shape>;
    act: (deps: Deps, actor: Person, input: z.output<z.ZodObject<Shape>>) => Output | Promise<Output>;
  };

/** An entry of the table, whose act gets its input as the schema makes it; what is left out is as for looking at a key. */
export function operation<Shape extends z.ZodRawShape, Output>(
  entry: Entry<Shape, Output>,
): Operation<Sent<Shape>, Output> {
  const { input, inputOf = {}, act } = entry;
  return {
    from: null,
    to: null,
    event: null,
    version: [],
    doors: { command: null, page: null, json: null },
    texts: null,
    keepsRest: false,
    isDangerous: false,
    isMailed: false,
    isMain: false,
    goesOn: null,
    usual: () => Object.fromEntries(Object.keys(input.shape).map((name) => [name, null])),
    refuse: () => {},
    alsoConfirmed: () => [],
    check: (deps, { identifier }) => refuseState(showKey(deps, identifier), entry.from ?? null, entry.event ?? null),
    ...entry,
    inputOf,
    act: (deps, actor, sent) => {
      parseInput(inputOf[actor.kind] ?? input, sent);
      return act(deps, actor, parseInput(input, sent));
    },
  };
}

/** The schema of an operation's input as a kind of person has to give it. */
export function inputFor(
  { input, inputOf }: Pick<AnyOperation, 'input' | 'inputOf'>,
  kind: Person['kind'],
): z.ZodObject {
  return inputOf[kind] ?? input;
}

/** The inputs that have a flag of `profilectl`, as a kind of person has to give them: names and schemas. */
export function flaggedInputs(
  operation: Pick<AnyOperation, 'input' | 'inputOf'>,
  kind: Person['kind'],
): [string, z.ZodType][] {
  const shape: Record<string, z.ZodType> = inputFor(operation, kind).shape;
  return Object.entries(shape).filter(([, schema]) => factsOf(schema).flag !== null);
}

/** What owners do with their own keys; the operator types it for owners who have no other way. */
export const OWNERS_DO: Who = { operator: 'all', admin: 'none', owner: 'own', platform: 'none' };

/** Looking at keys, which changes nothing. */
export const ALL_LOOK: Who = { operator: 'all', admin: 'all', owner: 'own', platform: 'none' };

/** Decisions, which nobody takes on a key of their own. */
export const ADMINS_DECIDE: Who = { operator: 'all', admin: 'all, asserted', owner: 'none', platform: 'none' };
