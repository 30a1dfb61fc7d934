import { z } from 'zod';
import type { Person } from '../actor.ts';
import type { KeyEventName, KeyState } from '../db/schema.ts';
import type { Deps } from '../deps.ts';
import { FIELDS, parseInput } from '../keys/fields.ts';
import { factsOf } from '../keys/inputs.ts';
import { refuseErased, refuseState } from '../keys/record.ts';
import type { KeyView } from '../keys/view.ts';

// The type of an operation; `shared/operations.ts` is the table of all.

/** The input of an operation as a door passes it, before the schema checks the values. */
type Sent<Shape extends z.ZodRawShape> = { readonly [Name in keyof Shape]?: unknown };

/** The input of a decision that needs a reason. */
export const WITH_REASON = z.object({ identifier: FIELDS.identifier, reason: FIELDS.reason });

/**
 * The keys on which each kind of person may perform an operation. `own`: those of the person's own profile; `own, unless
 * banned`: none while it is banned.
 */
type Who = Record<Person['kind'], 'all' | 'own' | 'own, unless banned' | 'none'>;

/** Actions of owners on their own keys. The operator can perform them for owners who can't sign in. */
export const OWNERS_DO: Who = { operator: 'all', admin: 'none', owner: 'own', backend: 'none' };

/** Looking at keys, which changes nothing. */
export const ALL_LOOK: Who = { operator: 'all', admin: 'all', owner: 'own', backend: 'none' };

/** Decisions on keys, which owners can't make on their own. */
export const ADMINS_DECIDE: Who = { operator: 'all', admin: 'all', owner: 'none', backend: 'none' };

/** The page on which owners perform an operation on one of their keys. */
export type OwnerPage = {
  /** Appended to `/developers/keys/:identifier/`. */
  path: string;
  /** By default the consequence in {@link Texts}. */
  consequence?: string;
};

/** What people read when they perform an operation. */
type Texts = {
  /** The heading of the confirmation, before the identifier: `Approve key`. */
  title: string;
  /** What its button says; if admins press it, a verb that a key can follow: `Approve`. */
  button: string;
  /** The button below its form on the key's page, if {@link button} alone does not say what it changes. */
  formButton?: string;
  /** Shown below the confirmation's values. */
  consequence: string;
  /** The message on the next page; null if that page says it anyway. */
  done: string | null;
  /** What it is called in the key's history, and in the log, where the identifier follows: `Approved key`. */
  history: string;
  log: string;
};

/** The output of an operation that was only started: the door awaits `finish`, or runs it in the background. */
export type Unfinished = { finish: (signal?: AbortSignal) => Promise<void> };

/** An action of people on keys. Every door is made from these; no door has its own rules on who may do what. */
export type Operation<Input extends object, Output> = {
  /** Also that of its command, `profilectl keys <name>`. */
  name: string;
  who: Who;
  /** The states in which a key allows it; null if all do, or if there is no key yet. */
  from: readonly KeyState[] | null;
  /** The entry that it adds to the key's history; null if it changes nothing. */
  event: KeyEventName | null;
  /** Made from `FIELDS` in `keys/fields.ts`; an input of this operation alone may stand in its entry. */
  input: z.ZodObject;
  /** Replaces {@link input} for kinds of person of whom more is required. */
  inputOf: Partial<Record<Person['kind'], z.ZodObject>>;
  /** One sentence, for help and documents. */
  summary: string;
  /** The examples of its command, and what its help says below the flags; a line has at most 80 columns. */
  examples: readonly string[];
  help?: string;
  /** Present if owners can perform it from the page of a key. */
  ownerPage?: OwnerPage;
  /** By default the name: what changes nothing is not confirmed. */
  texts: Texts;
  /** Whether omitted inputs keep the key's present values. */
  keepsRest: boolean;
  /** Whether it ends or refuses something, so that pages ask once more. */
  isDangerous: boolean;
  /** Whether `act` only starts it and returns an {@link Unfinished}, whose `finish` mails a secret. */
  mailsSecret: boolean;
  /** The defaults; an input without an entry does not apply to this key. */
  defaults(deps: Pick<Deps, 'db' | 'config'>, key: KeyView): Readonly<Record<string, unknown>>;
  /** Throws if the operation would be refused now, whatever the input. Returns what is confirmed besides the input. */
  check(deps: Deps, key: KeyView): readonly (readonly [name: string, value: string])[];
  /** Checks and trims the input, and performs the operation; `usage` if it is invalid. Only `perform` may call this. */
  act(deps: Deps, actor: Person, input: Input): Output | Promise<Output>;
};

/** An operation whose input is known only at run time. */
export type AnyOperation = Operation<Readonly<Record<string, unknown>>, unknown>;

type Entry<Shape extends z.ZodRawShape, Output> = Pick<AnyOperation, 'name' | 'who' | 'summary' | 'examples'> &
  Partial<Omit<AnyOperation, 'input' | 'act'>> & {
    input: z.ZodObject<Shape>;
    act: (deps: Deps, actor: Person, input: z.output<z.ZodObject<Shape>>) => Output | Promise<Output>;
  };

/** Makes an entry of the table. `act` receives the parsed input; the defaults suit operations that only look. */
export function operation<Shape extends z.ZodRawShape, Output>(
  entry: Entry<Shape, Output>,
): Operation<Sent<Shape>, Output> {
  const { name, input, inputOf = {}, from = null, event = null, check, act } = entry;
  return {
    texts: { title: name, button: name, consequence: '', done: null, history: '', log: '' },
    keepsRest: false,
    isDangerous: false,
    mailsSecret: false,
    defaults: () => Object.fromEntries(Object.keys(input.shape).map((one) => [one, null])),
    ...entry,
    check: (deps, key) => {
      if (event !== null) refuseErased(key.identifier, key.profile);
      refuseState(key, from, event);
      return check?.(deps, key) ?? [];
    },
    from,
    event,
    inputOf,
    act: (deps, actor, sent) => {
      // What this kind of person has to send, or may not, is only checked; `act` gets the input in one form.
      parseInput(inputOf[actor.kind] ?? input, sent);
      return act(deps, actor, parseInput(input, sent));
    },
  };
}

/** Whether a key's state allows an operation; nothing changes a key that was erased with its profile. */
export function allows({ from, event }: AnyOperation, { state, profile }: KeyView): boolean {
  return (from === null || from.includes(state)) && (event === null || profile !== null);
}

/** The schema of an operation's input for a kind of person. */
export function inputFor(
  { input, inputOf }: Pick<AnyOperation, 'input' | 'inputOf'>,
  kind: Person['kind'],
): z.ZodObject {
  return inputOf[kind] ?? input;
}

/** The inputs for which `profilectl` has a flag. */
export function flaggedInputs(operation: Pick<AnyOperation, 'input' | 'inputOf'>): [string, z.ZodType][] {
  const shape: Record<string, z.ZodType> = inputFor(operation, 'operator').shape;
  return Object.entries(shape).filter(([, schema]) => factsOf(schema).flag !== null);
}
