import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { readTyped } from '../../shared/keys/fields/input-text.ts';
import { parseInput } from '../../shared/keys/fields/parse-input.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import { joinWords } from '../../shared/text.ts';
import type { KeysContext } from './context.ts';
import { withKeys } from './with-keys.ts';

// Makes commands with flags, examples and help from the operations of shared/operations.ts.

/** The parsed arguments: the inputs by name, validated, and whether to wait for a remote decision. */
export type KeyArguments = { identifier: string; given: Record<string, unknown>; isWaiting: boolean };

/** The action of a command, on the local database or a remote server. */
export type Action = (context: KeysContext, args: KeyArguments) => Promise<void>;

const IDENTIFIER_HELP = 'the 8 characters that identify the key';

const WAIT_FLAG = ['--wait', 'on a remote server, wait for the decision even without a terminal'] as const;

const CONFIRMED_HELP = `On a terminal the command shows the key, asks for missing values, and changes nothing until you confirm. Without a
terminal, or with --yes, it does not ask.`;

const REMOTE_HELP = `On a remote server (--host, or a login) admins decide on the key's page, with a passkey: the command prints the URL of
that page, opens it in the browser with the form filled in from the flags, and waits up to ten minutes. Type reasons
on the page, without --reason. The exit code is 0 if the key was changed as requested; 1 if something else was decided, or
the mail was refused permanently; 75 if nothing was decided, or the mail may be accepted later. Without a terminal the command
prints the URL and exits with 75 at once, unless --wait is given.`;

/** Adds the command of an operation to the group `keys`, and returns it. */
export function addCommand(parent: Command, operation: AnyOperation, act: Action): Command {
  const { verb } = commandSpecOf(operation);
  const command = parent.command(verb).description(operation.summary);
  if ('identifier' in operation.input.shape) command.argument('<identifier>', IDENTIFIER_HELP);
  return withFlags(command, operation, act);
}

/** Like {@link addCommand}, with an optional identifier. `withoutKey` is the help for the command without it. */
export function addCommandWithOptionalKey(
  parent: Command,
  operation: AnyOperation,
  withoutKey: string,
  act: (context: KeysContext, args: Omit<KeyArguments, 'identifier'> & { identifier?: string }) => Promise<void>,
): Command {
  const { verb } = commandSpecOf(operation);
  const command = parent.command(verb).description(operation.summary);
  command.argument('[identifier]', `${IDENTIFIER_HELP}; ${withoutKey}`);
  return withFlags(command, operation, act);
}

function commandSpecOf({ name, doors }: AnyOperation) {
  if (doors.command === null) throw new Error(`The operation ${name} has no command.`);
  return doors.command;
}

function withFlags(command: Command, operation: AnyOperation, act: Action): Command {
  const { verb, examples, help: about } = commandSpecOf(operation);
  const isDecision = operation.doors.page === 'decision';
  for (const [, schema] of flaggedInputs(operation, 'operator')) command.option(...flagSpecOf(schema));
  if (isDecision) command.option(...WAIT_FLAG);
  const isConfirmed = operation.event !== null && 'identifier' in operation.input.shape;
  const paragraphs = [...(isConfirmed ? [CONFIRMED_HELP] : []), about, ...(isDecision ? [REMOTE_HELP] : [])];
  const lines = examples.map((example) => `  profilectl keys ${verb} ${example}`.trimEnd());
  const help = paragraphs.filter((text) => text !== undefined).map((text) => `\n${text}`);
  command.addHelpText('after', [...help, `\nExample${lines.length === 1 ? '' : 's'}:`, ...lines].join('\n'));
  return command.action(() =>
    withKeys(command, (context) => {
      const isWaiting = command.opts<{ wait?: true }>().wait === true;
      const given = readFlags(operation, command.opts(), context.clock.nowMs());
      return act(context, { identifier: command.args[0] as string, given, isWaiting });
    }),
  );
}

function flagSpecOf(schema: z.ZodType): readonly [flag: `--${string}`, about: string] {
  const { flag, label } = factsOf(schema);
  if (flag === null) throw new Error(`The ${label} has no flag.`);
  return flag;
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
  for (const [input, schema] of flaggedInputs(operation, 'operator')) {
    const texts = options[new Option(...flagSpecOf(schema)).attributeName()];
    if (texts !== undefined) values[input] = parseInput(schema, readTyped(factsOf(schema), [texts].flat(), nowMs));
  }
  return values;
}

/** Throws `usage`, with the flags, if any of these inputs are missing. */
export function refuseMissing(
  schemas: readonly (readonly [input: string, schema: z.ZodType])[],
  given: Readonly<Record<string, unknown>>,
): void {
  const flags = schemas.filter(([input]) => given[input] === undefined).map(([, schema]) => flagName(schema));
  if (flags.length === 0) return;
  throw new AppError('usage', `${joinWords(flags, 'and')} ${flags.length === 1 ? 'is' : 'are'} missing.`);
}

/** The name of a field's flag, such as `--name`. */
export function flagName(schema: z.ZodType): string {
  return flagSpecOf(schema)[0].split(' ', 1)[0] as string;
}
