import type { z } from 'zod';
import type { Person } from '../actor.ts';
import type { KeyEventName, KeyState } from '../db/key-columns.ts';
import type { Deps } from '../deps.ts';
import { factsOf, formNameOf } from '../keys/fields/input-facts.ts';
import { parseInput } from '../keys/fields/parse-input.ts';
import type { KeyFact } from '../keys/key-version.ts';
import { refuseState } from '../keys/record.ts';
import { type HistoryView, type KeyView, showKey } from '../keys/view.ts';
import type { Who } from './who.ts';

// The type of an operation; `shared/operations.ts` is the table of all.

/** The input of an operation as a door passes it on: the names are known, the schema checks the values. */
export type Sent<Shape extends z.ZodRawShape> = { readonly [Name in keyof Shape]?: unknown };

/** Its route under `/manage/v1/keys`. If it needs an assertion, an admin gets the URL of the key's page instead. */
export type JsonDoor = {
  method: 'GET' | 'POST' | 'PATCH';
  /** What follows `/manage/v1/keys`. */
  path: '' | '/:identifier' | `/:identifier/${string}`;
  operationId: string;
  /** The summary in the document, if it is not that of the operation. */
  summary?: string;
  description: string;
  /** The inputs that the body may have. */
  body?: readonly string[];
  /** The inputs that the query may have, by their names in forms. */
  query?: readonly string[];
  answers: 'key' | 'new key' | 'key with history' | 'list' | 'usage';
};

/** The page on which owners perform it on one of their keys, if it differs from the one for admins. */
export type OwnerPage = {
  /** What follows `/developers/keys/:identifier/`. */
  path: string;
  /** Its consequence for owners, if it is not the one in {@link Texts}. */
  consequence?: string;
};

/** Its doors. Pages that are written by hand are not among them. */
export type Doors = {
  /** `profilectl keys <verb>`, its examples, and additional help besides the flags. */
  command: { verb: string; examples: readonly string[]; help?: string } | null;
  /** Present if admins decide it on the page of the key. */
  page?: 'decision';
  /** Absent if owners can't perform it from the page of a key. */
  ownerPage?: OwnerPage;
  json: JsonDoor | null;
};

/** The texts that people read when they perform it. */
export type Texts = {
  /** Above a confirmation, before the identifier: `Approve key`. */
  title: string;
  /** On the button that leads to it. */
  button: string;
  /** Its consequence, below what is to be confirmed. */
  consequence: string;
  /** The message on the next page; null if that page says it anyway. */
  done: string | null;
  /** What a command says after Ctrl-C about a key in this state, if it is not the message of all operations. */
  interrupted?: (key: Pick<KeyView, 'identifier' | 'state'>) => string | null;
};

/** The result of an act that continues afterwards: the door waits for it, or runs it in the background. */
export type Unfinished = { finish: (signal?: AbortSignal) => Promise<void> };

/** A key with its history, and the key that it replaces, if it replaces one. */
export type ShownKey = { key: KeyView; history: readonly HistoryView[]; predecessor: KeyView | null };

type Facts = {
  name: string;
  who: Who;
  /** The required states of a key; null if any will do, or if there is no key yet. */
  from: readonly KeyState[] | null;
  /** The state of the key afterwards; null if it stays as it is. */
  to: KeyState | null;
  /** The resulting entry in the key's history; null if it changes nothing. */
  event: KeyEventName | null;
  /** The facts of the key and its profile that it relies on: if one has changed since it was shown, nothing is done. */
  version: readonly KeyFact[];
  /** One sentence, for help and documents. */
  summary: string;
  doors: Doors;
  texts: Texts | null;
  /** Whether omitted inputs keep the key's present values, so that some of them are enough. */
  keepsRest: boolean;
  /** Whether it ends or refuses something. */
  isDangerous: boolean;
  /**
   * Null if its act is complete when it returns. Otherwise the act only starts the operation, and what it returns has
   * to be finished. `begins` is the entry with which it starts in the history, `done` the word for one that was finished;
   * the others are the log's words about the key, after its identifier, if that is refused or fails.
   */
  continuation: { begins: KeyEventName; done: string; refused: string; failed: string } | null;
};

/** An action of people on keys. Every door is made from these, and none has its own rules on who may do what. */
export type Operation<Input extends object, Output> = Facts & {
  /** Made from `FIELDS` in `keys/inputs.ts`, each required or optional. */
  input: z.ZodObject;
  /** The input for kinds of person who may omit some of {@link input}. */
  inputOf: Partial<Record<Person['kind'], z.ZodObject>>;
  /** Defaults by input, for when nobody has typed anything; an absent input is not requested for this key. */
  usual(deps: Pick<Deps, 'db' | 'config'>, key: KeyView): Readonly<Record<string, unknown>>;
  /** Throws `usage` if this key, as far as it shows, can't have this input; checks input while it is typed. */
  refuse(
    key: KeyView,
    input: Readonly<Record<string, unknown>>,
    at: Pick<Deps, 'approvalLeaseMs'> & { nowMs: number },
  ): void;
  /** Which of these inputs a key has not got, as far as it shows them: none once it was decided with this input. */
  lacks(shown: ShownKey, input: Readonly<Record<string, unknown>>): readonly string[];
  /** What is to be confirmed besides the input: names and values. Throws what {@link check} does. */
  alsoConfirmed(deps: Deps, key: KeyView): readonly (readonly [name: string, value: string])[];
  /** Throws the refusal that the operation would meet now, before anybody confirms it. */
  check(deps: Deps, input: { identifier: string; expiresAtMs?: number | null | undefined }): void;
  /**
   * Checks and trims the input, and performs the operation. Only `perform` calls this, after its checks; throws
   * `usage`, and what the function for it in `keys/` throws.
   */
  act(deps: Deps, actor: Person, input: Input): Output | Promise<Output>;
};

/** An operation whose input is known only at run time. */
export type AnyOperation = Operation<Readonly<Record<string, unknown>>, unknown>;

type Entry<Shape extends z.ZodRawShape, Output> = Pick<Facts, 'name' | 'who' | 'summary'> &
  Partial<
    Facts & Pick<Operation<object, Output>, 'inputOf' | 'usual' | 'refuse' | 'lacks' | 'alsoConfirmed' | 'check'>
  > & {
    input: z.ZodObject<Shape>;
    act: (deps: Deps, actor: Person, input: z.output<z.ZodObject<Shape>>) => Output | Promise<Output>;
  };

/** An entry of the table, whose act gets its input as the schema returns it; defaults suit looking at a key. */
export function operation<Shape extends z.ZodRawShape, Output>(
  entry: Entry<Shape, Output>,
): Operation<Sent<Shape>, Output> {
  const { input, inputOf = {}, act } = entry;
  return {
    from: null,
    to: null,
    event: null,
    version: [],
    doors: { command: null, json: null },
    texts: null,
    keepsRest: false,
    isDangerous: false,
    continuation: null,
    usual: () => Object.fromEntries(Object.keys(input.shape).map((name) => [name, null])),
    refuse: () => {},
    lacks: () => [],
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

/** The schema of an operation's input for a kind of person. */
export function inputFor(
  { input, inputOf }: Pick<AnyOperation, 'input' | 'inputOf'>,
  kind: Person['kind'],
): z.ZodObject {
  return inputOf[kind] ?? input;
}

/** The parameters of an operation's query under `/manage/v1/keys`: names, inputs and schemas. */
export function queryInputs(
  { shape }: z.ZodObject,
  { query = [] }: JsonDoor,
): [parameter: string, input: string, schema: z.ZodType][] {
  return query.map((input) => {
    const schema = shape[input] as z.ZodType;
    return [formNameOf(input, schema), input, schema];
  });
}

/** The inputs with a flag of `profilectl` for a kind of person: names and schemas. */
export function flaggedInputs(
  operation: Pick<AnyOperation, 'input' | 'inputOf'>,
  kind: Person['kind'],
): [string, z.ZodType][] {
  const shape: Record<string, z.ZodType> = inputFor(operation, kind).shape;
  return Object.entries(shape).filter(([, schema]) => factsOf(schema).flag !== null);
}
