import { type Command, Option } from 'commander';
import type { z } from 'zod';
import type { Person } from '../../shared/actor.ts';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { readTyped } from '../../shared/keys/fields/input-text.ts';
import { parseInput } from '../../shared/keys/fields/parse-input.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import { isDecision } from '../../shared/operations/who.ts';
import { joinWords } from '../../shared/text.ts';
import { globalsOf } from '../context.ts';
import { withContext } from '../database.ts';
import { targetOf } from '../remote/target.ts';
import type { KeysContext } from './context.ts';
import { localKeys } from './local-keys.ts';
import { remoteKeys } from './remote/remote-keys.ts';

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
  if (isDecision(operation)) command.option(...WAIT_FLAG);
  return command.addHelpText('after', helpOf(operation)).action(() =>
    withKeys(command, (context) => {
      const isWaiting = command.opts<{ wait?: true }>().wait === true;
      // A server checks what it requires of admins.
      const kind = context.server === null ? 'operator' : 'owner';
      const given = readFlags(operation, kind, command.opts(), context.clock.nowMs());
      const [identifier] = command.args;
      if (withoutKey && identifier === undefined) return withoutKey.walk(context, given);
      return act(context, { identifier: identifier as string, given, isWaiting });
    }),
  );
}

/** Runs a command on keys in the local database or on a remote server. Throws what `targetOf` and the command throw. */
async function withKeys(command: Command, act: (context: KeysContext) => Promise<void>): Promise<void> {
  const target = await targetOf(command);
  if (target.kind === 'host') return act({ ...globalsOf(command), ...remoteKeys(target.host) });
  return withContext(command, 'use', ({ deps, actor, ...globals }) => act({ ...globals, ...localKeys(deps, actor) }));
}

function helpOf(operation: AnyOperation): string {
  const { name, event, input, doors } = operation;
  if (doors.command === null) throw new Error(`The operation ${name} has no command.`);
  const { examples, help } = doors.command;
  const isConfirmed = event !== null && 'identifier' in input.shape;
  const paragraphs = [
    ...(isConfirmed ? [CONFIRMED_HELP] : []),
    ...(help === undefined ? [] : [help]),
    ...(isDecision(operation) ? [REMOTE_HELP] : []),
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
 * The values of the given flags, by input, as this kind of person may give them. `options` are the texts from Commander. Throws
 * `usage` for an invalid value.
 */
export function readFlags(
  operation: AnyOperation,
  kind: Person['kind'],
  options: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [input, schema] of flaggedInputs(operation, kind)) {
    const texts = options[new Option(...flagSpecOf(schema)).attributeName()];
    if (texts !== undefined) values[input] = parseInput(schema, readTyped(factsOf(schema), [texts].flat(), nowMs));
  }
  return values;
}

/** The flags of the required inputs that are missing. */
export function missingFlags(
  operation: AnyOperation,
  kind: Person['kind'],
  given: Readonly<Record<string, unknown>>,
): string[] {
  return flaggedInputs(operation, kind)
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
