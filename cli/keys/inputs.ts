import { type Command, Option } from 'commander';
import type { z } from 'zod';
import type { Permission } from '../../shared/db/schema.ts';
import { AppError, faultOf } from '../../shared/errors.ts';
import { parseInput } from '../../shared/keys/fields.ts';
import {
  factsOf,
  type InputFacts,
  type InputKind,
  readAnswer,
  readTyped,
  typedText,
} from '../../shared/keys/inputs.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import { joinWords } from '../../shared/text.ts';
import { askLongText, askPermissions, askText } from '../terminal/prompts.ts';
import { collect } from '../terminal/values.ts';

/** The kinds of inputs whose flag may be repeated. */
const LISTS: readonly InputKind[] = ['permissions', 'rate limits', 'states'];

/** Adds the flags of an operation's inputs to a command. */
export function addFlags(command: Command, operation: AnyOperation): void {
  for (const [, schema] of flaggedInputs(operation)) {
    const [flag, about] = flagSpecOf(schema);
    if (LISTS.includes(factsOf(schema).kind)) command.option(flag, `${about}; may be repeated`, collect);
    else command.option(flag, about);
  }
}

/**
 * The values of the given flags, by input. `options` are the texts from Commander. Throws `usage` for an invalid value.
 */
export function readFlags(
  operation: AnyOperation,
  options: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [input, schema] of flaggedInputs(operation)) {
    const texts = options[new Option(...flagSpecOf(schema)).attributeName()];
    if (texts !== undefined) values[input] = parseInput(schema, readTyped(factsOf(schema), [texts].flat(), nowMs));
  }
  return values;
}

/** The flags that give these values: the inverse of {@link readFlags}. */
export function flagsFor(operation: AnyOperation, given: Readonly<Record<string, unknown>>): string[] {
  return flaggedInputs(operation).flatMap(([input, schema]) => {
    const value = given[input];
    if (value === undefined) return [];
    return typedText(factsOf(schema).kind, value).flatMap((text) => [flagName(schema), text]);
  });
}

/** Throws `usage`, with the flags of all required inputs that are missing. */
export function refuseMissing(operation: AnyOperation, given: Readonly<Record<string, unknown>>): void {
  const flags = missingFlags(operation, given);
  if (flags.length === 0) return;
  throw new AppError('usage', `${joinWords(flags, 'and')} ${flags.length === 1 ? 'is' : 'are'} missing.`);
}

/** The flags of the required inputs that are missing. */
export function missingFlags(operation: AnyOperation, given: Readonly<Record<string, unknown>>): string[] {
  return flaggedInputs(operation)
    .filter(([input, schema]) => given[input] === undefined && !schema.safeParse(undefined).success)
    .map(([, schema]) => flagName(schema));
}

/** The name of a field's flag, such as `--name`. */
export function flagName(schema: z.ZodType): string {
  return flagSpecOf(schema)[0].split(' ', 1)[0] as string;
}

function flagSpecOf(schema: z.ZodType): readonly [flag: `--${string}`, about: string] {
  const { flag, label } = factsOf(schema);
  if (flag === null) throw new Error(`The ${label} has no flag.`);
  return flag;
}

/** A prompt for one input field. */
type Question = {
  schema: z.ZodType;
  initial: unknown;
  /** Whether `initial` is the key's current value; a missing time is then shown as `never`. */
  isCurrent?: boolean;
  /** Throws if a value that the schema accepts is not allowed for this key. */
  check?: (value: unknown) => void;
  nowMs: () => number;
};

/** Prompts for a field, with the prompt of its kind, until it is valid. Returns its value. Throws `cancelled`. */
export async function askField({ schema, initial, isCurrent = false, check, nowMs }: Question): Promise<unknown> {
  const facts = factsOf(schema);
  const { title: message, kind } = facts;
  if (kind === 'permissions') return askPermissions(message, (initial ?? []) as Permission[]);
  const read = (text: string) => {
    const value = parseInput(schema, readAnswer(facts, [text], nowMs()));
    check?.(value);
    return value;
  };
  const ask = kind === 'lines' ? askLongText : askText;
  const isNever = isCurrent && initial === null && facts.isEndless === true;
  const hint = hintOf(schema, facts);
  const typed = await ask({
    message: hint === '' ? `${message}:` : `${message} (${hint.replace(/\.$/, '')}):`,
    initial: isNever ? 'never' : (typedText(kind, initial)[0] as string),
    fault: (text) => faultOf(() => read(text)),
  });
  return read(typed);
}

function hintOf(schema: z.ZodType, { hint = '', bounds }: InputFacts): string {
  if (bounds === undefined) return hint;
  if (schema.safeParse(null).success) return 'Optional; press Enter for none.';
  const { min, max } = bounds;
  return `${hint} ${min > 1 ? `${min} to ${max} characters.` : `Up to ${max} characters.`}`.trim();
}

/** The title and value of a field, as shown before the confirmation. */
export function fieldText(schema: z.ZodType, value: unknown): [title: string, text: string] {
  const { title, kind, isEndless } = factsOf(schema);
  const texts = typedText(kind, value).filter((text) => text !== '');
  if (texts.length === 0) return [title, isEndless ? 'never' : '–'];
  return [title, (kind === 'rate limits' ? texts.flatMap((text) => text.split(' ')) : texts).join(', ')];
}
