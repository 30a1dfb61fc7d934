import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { parseInput, USUAL_PAGE_LENGTH } from '../../shared/keys/fields.ts';
import type { AnyOperation } from '../../shared/operations/entry.ts';
import { ALL_OPERATIONS, OPERATIONS } from '../../shared/operations.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { type Context, commandLine, withContext } from '../context.ts';
import { ageText, canAsk, columnsOf, notice, outputColumns, print, printJson } from '../terminal/output.ts';
import { askChoice } from '../terminal/prompts.ts';
import { carryOut } from './carry-out.ts';
import { performAndSend } from './context.ts';
import { addFlags, flagsFor, readFlags } from './inputs.ts';
import { historyText, keysText, keyText, paintStates, usageText } from './print.ts';
import { requestKey } from './request.ts';

/** The validated inputs from the flags, by name. */
type Given = Record<string, unknown>;

type Action = (context: Context, identifier: string, given: Given) => Promise<void>;

/** Adds a command `keys …` for each operation of `shared/operations.ts`. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('Request API keys, decide on requests, and manage keys.');
  const request = addCommand(keys, OPERATIONS.request, (context, _none, given) =>
    requestKey(context, given, request.opts<{ descriptionFile?: string }>().descriptionFile),
  );
  request.option('--description-file <path>', 'a file with the description; "-" is stdin');
  addCommand(keys, OPERATIONS.list, (context, _none, given) => list(context, given));
  addCommand(keys, OPERATIONS.show, show);
  addCommand(keys, OPERATIONS.usage, usage);
  addCommand(keys, OPERATIONS.approve, approve, '[identifier]');
  for (const operation of ALL_OPERATIONS) {
    const isAdded = keys.commands.some((other) => other.name() === operation.name);
    if (operation.event === null || isAdded) continue;
    addCommand(keys, operation, (context, identifier, given) => carryOut(context, operation, identifier, given));
  }
}

/** Adds the command of an operation, with its flags, examples and help, and returns it. */
function addCommand(keys: Command, operation: AnyOperation, act: Action, argument = '<identifier>'): Command {
  const { name, summary, input, examples, help } = operation;
  const command = keys.command(name).description(summary);
  if ('identifier' in input.shape) command.argument(argument);
  addFlags(command, operation);
  const lines = examples.map((example) => `  profilectl keys ${name} ${example}`.trimEnd());
  const text = [...(help === undefined ? [] : [help, '']), `Example${lines.length === 1 ? '' : 's'}:`, ...lines];
  return command
    .addHelpText('after', `\n${text.join('\n')}`)
    .action(() =>
      withContext(command, 'use', (context) =>
        act(context, command.args[0] ?? '', readFlags(operation, command.opts(), context.deps.clock.nowMs())),
      ),
    );
}

async function list(context: Context, given: Given): Promise<void> {
  const operation = OPERATIONS.list;
  parseInput(operation.input, given);
  const { json, deps } = context;
  const isPage = given.after !== undefined || (process.stdout.isTTY && !json);
  const found = await performAndSend(context, operation, { ...(isPage && { limit: USUAL_PAGE_LENGTH }), ...given });
  const { keys, lastUses } = found;
  const next = found.next === null ? null : (keys.at(-1)?.identifier ?? null);
  if (json) return printJson({ keys, next });
  print(keysText(keys, deps.clock.nowMs(), lastUses), paintStates);
  if (next === null) return;
  notice(`\nNext page: ${commandLine('keys list', flagsFor(operation, { ...given, after: next }), context)}`);
}

async function show(context: Context, identifier: string): Promise<void> {
  const { key, history } = await performAndSend(context, OPERATIONS.show, { identifier });
  if (context.json) printJson({ ...key, history });
  else print(`${keyText(key, columnsOf(process.stdout))}\n\n${historyText(history)}`, paintStates);
}

async function usage(context: Context, identifier: string, given: Given): Promise<void> {
  const found = await performAndSend(context, OPERATIONS.usage, { ...given, identifier });
  if (context.json) printJson(found);
  else print(usageText(found, outputColumns() || 80));
}

/** Approves a key; without an identifier, one of the pending requests, chosen on the terminal. */
async function approve(context: Context, identifier: string, given: Given): Promise<void> {
  const chosen = identifier === '' ? await choosePending(context) : identifier;
  if (chosen === null) return print('No requests are pending.');
  await carryOut(context, OPERATIONS.approve, chosen, given);
}

async function choosePending(context: Context): Promise<string | null> {
  const { deps, yes } = context;
  if (yes || !canAsk()) throw new AppError('usage', 'The identifier is missing.');
  const { keys } = await performAndSend(context, OPERATIONS.list, { states: ['pending'] });
  if (keys.length === 0) return null;
  return askChoice(
    'Which request?',
    keys.map(({ identifier, profile, name, requestedPermissions, requestedAt }) => {
      const about = `${profile ?? 'erased'}: ${name} (${requestedPermissions.join(', ')})`;
      return {
        value: identifier,
        name: cleanForTerminal(`${identifier}  ${ageText(requestedAt, deps.clock.nowMs())}  ${about}`),
      };
    }),
  );
}
