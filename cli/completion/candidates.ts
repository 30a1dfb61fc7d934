import type { Command, Option } from 'commander';
import { LOG_GROUPS } from '../../shared/admins/log-kinds.ts';
import { KeyList } from '../../shared/api/key-bodies.ts';
import { tokenNames } from '../../shared/backends/backend-tokens.ts';
import type { Db } from '../../shared/db/connect.ts';
import { KEY_STATES, type KeyState, PERMISSIONS } from '../../shared/db/key-columns.ts';
import { BACKEND_RIGHTS } from '../../shared/db/people-columns.ts';
import { withTables } from '../../shared/db/tables.ts';
import { openDatabase } from '../../shared/db-files/open.ts';
import { AppError } from '../../shared/errors.ts';
import { factsOf, type InputFacts, type InputKind } from '../../shared/keys/fields/input-facts.ts';
import { type KeyName, keyNames } from '../../shared/keys/names.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import { ALL_OPERATIONS } from '../../shared/operations.ts';
import { adminNames } from '../../shared/passkeys/passkeys.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { configOf } from '../configuration.ts';
import type { Globals } from '../context.ts';
import { flagName } from '../keys/command.ts';
import { type AskedHost, askHost } from '../remote/client.ts';
import { pathOf } from '../remote/command-scope.ts';
import { targetFor } from '../remote/target.ts';

/** A completion of the last word of a command line, with a short description. */
export type Candidate = { value: string; about: string };

/** The only candidate if a file name is expected, which the shell then completes itself. */
export const FILES = ':files';

/** An incomplete command line: its command, the number of arguments, and the flag that still needs a value. */
type CommandLine = { command: Command; args: number; flag: Option | null } & Pick<Globals, 'db' | 'host' | 'envFile'>;

/**
 * Returns the completions of the last word: subcommands, flags or values; none if the database can't be read. `words` are
 * the words after the program's name.
 */
export async function candidatesFor(program: Command, words: readonly string[]): Promise<Candidate[]> {
  const typed = words.at(-1) ?? '';
  const line = parseLine(program, words.slice(0, -1));
  const all = await candidatesAt(line, typed);
  if (all[0]?.value === FILES) return all;
  return all.filter(({ value }) => value.startsWith(typed));
}

function parseLine(program: Command, words: readonly string[]): CommandLine {
  const line: CommandLine = { command: program, args: 0, flag: null };
  // "help keys approve" is completed like "keys approve".
  for (const word of words[0] === 'help' ? words.slice(1) : words) {
    if (word.startsWith('-')) {
      const option = flagsOf(line.command).find(({ short, long }) => short === word || long === word);
      line.flag = option?.required || option?.optional ? option : null;
      continue;
    }
    if (line.flag !== null) {
      if (line.flag.long === '--db') line.db = word;
      if (line.flag.long === '--host') line.host = word;
      if (line.flag.long === '--env-file') line.envFile = word;
      // A variadic flag takes all words until the next flag.
      if (!line.flag.variadic) line.flag = null;
      continue;
    }
    const next = line.command.commands.find((command) => command.name() === word);
    if (next === undefined) line.args++;
    else Object.assign(line, { command: next, args: 0 });
  }
  return line;
}

async function candidatesAt(line: CommandLine, typed: string): Promise<Candidate[]> {
  const { command, flag } = line;
  if (typed.startsWith('-')) return flagCandidates(command);
  if (flag !== null) {
    const field = inputOf(command, flag);
    if (field?.statesOfKey) return identifiers(line, field.statesOfKey);
    return field === undefined ? flagValues(flag) : plain(VALUES[field.kind] ?? []);
  }
  if (command.commands.length > 0) {
    if (line.args > 0) return [];
    return command.commands.map((child) => ({ value: child.name(), about: child.description() }));
  }
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[line.args] ?? (last?.variadic ? last : undefined);
  if (argument?.name() === 'identifier') return identifiers(line, statesFor(command.name()));
  if (argument?.name() === 'admin') return admins(line);
  if (argument?.name() === 'token') return tokens(line);
  if (argument?.name() === 'file') return [{ value: FILES, about: '' }];
  if (argument?.name() === 'shell') return plain(['bash', 'zsh', 'fish']);
  return [];
}

function flagCandidates(command: Command): Candidate[] {
  const flags = flagsOf(command).filter(({ hidden }) => !hidden);
  const all = flags.map(({ long, description }) => ({ value: long ?? '', about: description }));
  return [...all, { value: '--help', about: 'display help for command' }];
}

/** The flags of the command, and the global flags. */
function flagsOf(command: Command): Option[] {
  return [...command.options, ...(command.parent === null ? [] : flagsOf(command.parent))];
}

/** The facts of the input of a flag of `keys …`; undefined for other flags. */
function inputOf(command: Command, { long }: Option): InputFacts | undefined {
  const operation = command.parent?.name() === 'keys' ? operationOf(command.name()) : undefined;
  const inputs = operation === undefined ? [] : flaggedInputs(operation, 'operator');
  const [, schema] = inputs.find(([, one]) => flagName(one) === long) ?? [];
  return schema && factsOf(schema);
}

/** The values of inputs with a fixed list. */
const VALUES: Partial<Record<InputKind, readonly string[]>> = { permissions: PERMISSIONS, states: KEY_STATES };

function flagValues({ long, flags }: Option): Candidate[] {
  if (long === '--right') return plain(BACKEND_RIGHTS);
  if (long === '--kind') return plain(LOG_GROUPS.flatMap(({ group, kinds }) => [group, ...kinds]));
  return flags.includes('<path>') ? [{ value: FILES, about: '' }] : [];
}

function plain(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, about: '' }));
}

/** The states of keys that a command of the group `keys` accepts; empty if all. */
function statesFor(command: string): readonly KeyState[] {
  return operationOf(command)?.from ?? [];
}

function operationOf(command: string): AnyOperation | undefined {
  return ALL_OPERATIONS.find(({ name }) => name === command);
}

async function identifiers(line: CommandLine, states: readonly KeyState[]): Promise<Candidate[]> {
  return unlessRefused(async () => {
    const target = await targetFor(line, pathOf(line.command));
    if (target.kind === 'box') {
      return readDatabase(line, (db) => keyNames(db, states).map(keyCandidate));
    }
    return (await keyNamesAt(target.host, states)).map(keyCandidate);
  });
}

/** How long completion waits for a server. */
const PATIENCE_MS = 2_000;

/** The server's first page of keys in these states (none: all). Throws what `askHost` throws. */
export async function keyNamesAt(host: AskedHost, states: readonly KeyState[]): Promise<KeyName[]> {
  const query = { state: states.length === 0 ? undefined : states.join(',') };
  const request = { method: 'GET', path: '/keys', query, answer: KeyList, patienceMs: PATIENCE_MS } as const;
  return (await askHost(host, request)).body.keys;
}

function keyCandidate({ identifier, state, profile, name }: KeyName): Candidate {
  return { value: cleanForTerminal(identifier), about: cleanForTerminal(`${state}, ${profile ?? 'erased'}: ${name}`) };
}

function admins(line: CommandLine): Promise<Candidate[]> {
  return fromDatabase(line, (db) => plain(adminNames(db).map((name) => cleanForTerminal(name))));
}

function tokens(line: CommandLine): Promise<Candidate[]> {
  return fromDatabase(line, (db) =>
    tokenNames(db).map(({ identifier, name }) => ({ value: identifier, about: cleanForTerminal(name) })),
  );
}

function fromDatabase(line: CommandLine, read: (db: Db) => Candidate[]): Promise<Candidate[]> {
  return unlessRefused(() => readDatabase(line, read));
}

function readDatabase({ db, envFile }: CommandLine, read: (db: Db) => Candidate[]): Candidate[] {
  const { databasePath } = configOf({ json: false, yes: false, ...(db && { db }), ...(envFile && { envFile }) });
  const opened = openDatabase(databasePath, 'use');
  using _ = opened.$client;
  return read(withTables(opened));
}

async function unlessRefused(find: () => Candidate[] | Promise<Candidate[]>): Promise<Candidate[]> {
  try {
    return await find();
  } catch (error) {
    // The command itself will report the error.
    if (error instanceof AppError) return [];
    throw error;
  }
}
