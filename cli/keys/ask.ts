import type { z } from 'zod';
import type { Permission } from '../../shared/db/key-columns.ts';
import { faultOf } from '../../shared/errors.ts';
import { boundsInWords, factsOf, type InputFacts } from '../../shared/keys/input-rules.ts';
import { readAnswer, typedText } from '../../shared/keys/input-text.ts';
import { parseInput } from '../../shared/keys/inputs.ts';
import { askLongText, askPermissions, askText } from '../terminal/prompts.ts';

/** A prompt for one input field. */
export type Question = {
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
  return schema.safeParse(null).success ? 'Optional; press Enter for none.' : `${hint} ${boundsInWords(bounds)}`.trim();
}

/** The title and value of a field, as shown before the confirmation. */
export function fieldText(schema: z.ZodType, value: unknown): [title: string, text: string] {
  const { title, kind, isEndless } = factsOf(schema);
  const texts = typedText(kind, value).filter((text) => text !== '');
  if (texts.length === 0) return [title, isEndless ? 'never' : '–'];
  return [title, (kind === 'rate limits' ? texts.flatMap((text) => text.split(' ')) : texts).join(', ')];
}
