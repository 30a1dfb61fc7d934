import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { readTyped } from '../../shared/keys/fields/input-text.ts';
import { parseInput } from '../../shared/keys/fields/parse-input.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import type { KeysContext } from './context.ts';
import { withKeys } from './with-keys.ts';

// The one place where an operation of the table becomes a command: its words, flags, examples and help.

/** What was typed: the input by its names, each value checked by its schema, and whether to wait for a decision elsewhere. */
export type Asked = { identifier: string; given: Record<string, unknown>; isWaiting: boolean };

/** What a command does with it, here or at a server. */
export type Act = (context: KeysContext, asked: Asked) => Promise<void>;

const IDENTIFIER_HELP = 'the 8 characters that name the key';

const WAIT_FLAG = ['--wait', 'at a server, wait for the decision without a terminal too'] as const;

const DECISION_HELP = `On a terminal the key is laid out, what is not given is asked for, and nothing happens before a yes. Off a terminal, or with
--yes, nothing is asked.`;

const ELSEWHERE_HELP = `At a server (--host, or a login) an admin decides on the page of the key, by a passkey: the command prints its address,
opens it in the browser, where what the flags say is filled in, and waits for ten minutes at most. A reason is typed
there. Its exit code is 0 where the key became what was asked for, 1 where it became something else or the mail was
refused for good, and 75 where nothing was decided or the mail may be tried again. Without a terminal it prints the
address and ends with 75 at once, unless --wait is given.`;

/** Adds the command of an operation to the group `keys`, and returns it. Throws where the operation has none. */
export function addCommand(parent: Command, operation: AnyOperation, act: Act): Command {
  const { verb } = doorOf(operation);
  const command = parent.command(verb).description(operation.summary);
  if ('identifier' in operation.input.shape) command.argument('<identifier>', IDENTIFIER_HELP);
  return withFlags(command, operation, act);
}

/** The same for a command that does something else where no key is named, which `withoutKey` says in its help. */
export function addCommandOfAnyKey(
  parent: Command,
  operation: AnyOperation,
  withoutKey: string,
  act: (context: KeysContext, asked: Omit<Asked, 'identifier'> & { identifier?: string }) => Promise<void>,
): Command {
  const { verb } = doorOf(operation);
  const command = parent.command(verb).description(operation.summary);
  command.argument('[identifier]', `${IDENTIFIER_HELP}; ${withoutKey}`);
  return withFlags(command, operation, act);
}

function doorOf({ name, doors }: AnyOperation) {
  if (doors.command === null) throw new Error(`The operation ${name} has no command.`);
  return doors.command;
}

function withFlags(command: Command, operation: AnyOperation, act: Act): Command {
  const { verb, examples, help } = doorOf(operation);
  const isDecision = operation.doors.page === 'decision';
  for (const [, schema] of flaggedInputs(operation, 'operator')) command.option(...flagOf(schema));
  if (isDecision) command.option(...WAIT_FLAG);
  const paragraphs = [...(isDecision ? [DECISION_HELP] : []), help, ...(isDecision ? [ELSEWHERE_HELP] : [])];
  const lines = examples.map((example) => `  profilectl keys ${verb} ${example}`.trimEnd());
  command.addHelpText(
    'after',
    [
      '',
      ...paragraphs.filter((text) => text !== undefined),
      '',
      `Example${lines.length === 1 ? '' : 's'}:`,
      ...lines,
    ].join('\n'),
  );
  return command.action(() =>
    withKeys(command, (context) => {
      const isWaiting = command.opts<{ wait?: true }>().wait === true;
      const given = readFlags(operation, command.opts(), context.clock.nowMs());
      return act(context, { identifier: command.args[0] as string, given, isWaiting });
    }),
  );
}

function flagOf(schema: z.ZodType): readonly [flag: `--${string}`, about: string] {
  const { flag, label } = factsOf(schema);
  if (flag === null) throw new Error(`The ${label} has no flag.`);
  return flag;
}

/**
 * The values of the flags that were given, by the names of the inputs; `options` are those that Commander has read. Throws
 * `usage` for the first that is wrong.
 */
export function readFlags(
  operation: AnyOperation,
  options: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [input, schema] of flaggedInputs(operation, 'operator')) {
    const texts = options[new Option(...flagOf(schema)).attributeName()];
    if (texts !== undefined) values[input] = parseInput(schema, readTyped(factsOf(schema), [texts].flat(), nowMs));
  }
  return values;
}

/**
 * Throws `usage`, naming the flags of all that are missing, where not all of these inputs are given.
 */
export function refuseMissing(
  schemas: readonly (readonly [input: string, schema: z.ZodType])[],
  given: Readonly<Record<string, unknown>>,
): void {
  const flags = schemas.filter(([input]) => given[input] === undefined).map(([, schema]) => flagName(schema));
  if (flags.length === 0) return;
  throw new AppError('usage', `${listed(flags, 'and')} ${flags.length === 1 ? 'is' : 'are'} missing.`);
}

/** The name of a field's flag, such as `--name`. */
export function flagName(schema: z.ZodType): string {
  return flagOf(schema)[0].split(' ', 1)[0] as string;
}

/** Words as a list: `a, b and c`. */
export function listed(words: readonly string[], last: 'and' | 'or'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}
