import type { z } from 'zod';
import type { Permission } from '../../shared/db/key-columns.ts';
import { faultOf } from '../../shared/errors.ts';
import { boundsInWords, factsOf, type InputFacts } from '../../shared/keys/fields/input-facts.ts';
import { readAnswer, typedText } from '../../shared/keys/fields/input-text.ts';
import { parseInput } from '../../shared/keys/fields/parse-input.ts';
import { askLongText, askPermissions, askText } from '../terminal/prompts.ts';

/** How a field of an operation's input is asked for. */
export type Question = {
  schema: z.ZodType;
  /** What it has, or would have, where nothing else is typed; the prompt begins with it. */
  initial: unknown;
  /** Whether `initial` is what the key has now, so that a time that is none is shown as `never`. */
  isPresent?: boolean;
  /** Throws what is wrong with a value beside what its schema says. */
  check?: (value: unknown) => void;
  nowMs: () => number;
};

/** Asks for a field on the terminal, by its kind, until it is valid, and returns its value. Throws `cancelled`. */
export async function askField({ schema, initial, isPresent = false, check, nowMs }: Question): Promise<unknown> {
  const facts = factsOf(schema);
  const { title: message, kind } = facts;
  if (kind === 'permissions') return askPermissions(message, (initial ?? []) as Permission[]);
  const read = (text: string) => {
    const value = parseInput(schema, readAnswer(facts, [text], nowMs()));
    check?.(value);
    return value;
  };
  const ask = kind === 'lines' ? askLongText : askText;
  const isNever = isPresent && initial === null && facts.isEndless === true;
  const typed = await ask({
    message,
    hint: hintOf(schema, facts),
    initial: isNever ? 'never' : (typedText(kind, initial)[0] as string),
    fault: (text) => faultOf(() => read(text)),
  });
  return read(typed);
}

/** What is shown at a prompt while nothing is typed. */
function hintOf(schema: z.ZodType, { hint = '', bounds }: InputFacts): string {
  if (bounds === undefined) return hint;
  return schema.safeParse(null).success ? 'Optional: Enter for none.' : `${hint} ${boundsInWords(bounds)}`.trim();
}

/** A field as it is laid out before a yes: its title and its value. */
export function fieldText(schema: z.ZodType, value: unknown): [title: string, text: string] {
  const { title, kind, isEndless } = factsOf(schema);
  const texts = typedText(kind, value).filter((text) => text !== '');
  if (texts.length === 0) return [title, isEndless ? 'never' : '–'];
  return [title, (kind === 'rate limits' ? texts.flatMap((text) => text.split(' ')) : texts).join(', ')];
}
