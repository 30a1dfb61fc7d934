import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { readTyped } from '../../shared/keys/fields/input-text.ts';
import { parseInput } from '../../shared/keys/fields/parse-input.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import { joinWords } from '../../shared/text.ts';
import { withContext } from '../database.ts';
import { type KeysContext, keysContext } from './context.ts';

// Makes commands with flags, examples and help from the operations of shared/operations.ts.

/** The parsed arguments: the inputs by name, validated. */
export type KeyArguments = { identifier: string; given: Record<string, unknown> };

/** The action of a command. */
export type Action = (context: KeysContext, args: KeyArguments) => Promise<void>;

const IDENTIFIER_HELP = 'the 8 characters that identify the key';

const CONFIRMED_HELP = `On a terminal the command shows the key, asks for missing values, and changes nothing until you confirm. Without a
terminal, or with --yes, it does not ask.`;

/**
 * Adds the command of an operation to the group `keys`, and returns it. With `withoutKey`, its identifier is optional; that has
 * the help for the command without one, and its action.
 */
export function addCommand(
  parent: Command,
  operation: AnyOperation,
  act: Action,
  withoutKey?: { help: string; walk: (context: KeysContext, given: KeyArguments['given']) => Promise<void> },
): Command {
  const { name, summary, input } = operation;
  const command = parent.command(name).description(summary);
  if (withoutKey) command.argument('[identifier]', `${IDENTIFIER_HELP}; ${withoutKey.help}`);
  else if ('identifier' in input.shape) command.argument('<identifier>', IDENTIFIER_HELP);
  for (const [, schema] of flaggedInputs(operation, 'operator')) command.option(...flagSpecOf(schema));
  return command.addHelpText('after', helpOf(operation)).action(() =>
    withContext(command, 'use', (opened) => {
      const context = keysContext(opened);
      const given = readFlags(operation, command.opts(), context.clock.nowMs());
      const [identifier] = command.args;
      if (withoutKey && identifier === undefined) return withoutKey.walk(context, given);
      return act(context, { identifier: identifier as string, given });
    }),
  );
}

function helpOf(operation: AnyOperation): string {
  const { name, event, input, doors } = operation;
  if (doors.command === null) throw new Error(`The operation ${name} has no command.`);
  const { examples, help } = doors.command;
  const isConfirmed = event !== null && 'identifier' in input.shape;
  const paragraphs = [
    ...(isConfirmed ? [CONFIRMED_HELP] : []),
    ...(help === undefined ? [] : [help]),
    `Example${examples.length === 1 ? '' : 's'}:`,
  ];
  const lines = examples.map((example) => `  profilectl keys ${name} ${example}`.trimEnd());
  return [...paragraphs.map((text) => `\n${text}`), ...lines].join('\n');
}

function flagSpecOf(schema: z.ZodType): readonly [flag: `--${string}`, about: string] {
  const { flag, label } = factsOf(schema);
  if (flag === null) throw new Error(`The ${label} has no flag.`);
  return flag;
}

/**
 * The values of the given flags, by input. `options` are the texts from Commander. Throws
 * `usage` for an invalid value.
 */
export function readFlags(
  operation: AnyOperation,
  options: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [input, schema] of flaggedInputs(operation, 'operator')) {
    const texts = options[new Option(...flagSpecOf(schema)).attributeName()];
    if (texts !== undefined) values[input] = parseInput(schema, readTyped(factsOf(schema), [texts].flat(), nowMs));
  }
  return values;
}

/** The flags of the required inputs that are missing. */
export function missingFlags(operation: AnyOperation, given: Readonly<Record<string, unknown>>): string[] {
  return flaggedInputs(operation, 'operator')
    .filter(([input, schema]) => given[input] === undefined && !schema.safeParse(undefined).success)
    .map(([, schema]) => flagName(schema));
}

/** Throws `usage` if flags are missing. */
export function refuseMissing(flags: readonly string[]): void {
  if (flags.length === 0) return;
  throw new AppError('usage', `${joinWords(flags, 'and')} ${flags.length === 1 ? 'is' : 'are'} missing.`);
}

/** The name of a field's flag, such as `--name`. */
export function flagName(schema: z.ZodType): string {
  return flagSpecOf(schema)[0].split(' ', 1)[0] as string;
}
