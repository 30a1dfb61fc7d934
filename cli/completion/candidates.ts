import type { Command, Option } from 'commander';
import { LOG_GROUPS } from '../../shared/admins/log-kinds.ts';
import { tokenNames } from '../../shared/backends/backend-tokens.ts';
import type { Db } from '../../shared/db/connect.ts';
import { KEY_STATES, type KeyState, PERMISSIONS } from '../../shared/db/key-columns.ts';
import { BACKEND_RIGHTS } from '../../shared/db/people-columns.ts';
import { withTables } from '../../shared/db/tables.ts';
import { openDatabase } from '../../shared/db-files/open.ts';
import { AppError } from '../../shared/errors.ts';
import { type KeyName, keyNames } from '../../shared/keys/names.ts';
import { ALL_OPERATIONS } from '../../shared/operations.ts';
import { adminNames } from '../../shared/passkeys/passkeys.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { configOf } from '../configuration.ts';
import type { Globals } from '../context.ts';
import { pathOf } from '../remote/command-scope.ts';
import { keyNamesAt } from '../remote/key-names.ts';
import { targetFor } from '../remote/target.ts';

/** A word that may come next on a command line, with a short description. */
export type Candidate = { value: string; about: string };

/** The only candidate where a file name is expected: it tells the shell to complete file names itself. */
export const FILES = ':files';

/** The state of an unfinished command line: its command, the number of arguments, and the flag that still needs a value. */
type Place = { command: Command; args: number; flag: Option | null } & Pick<Globals, 'db' | 'host' | 'envFile'>;

/**
 * Returns what the last word may be completed to: subcommands, flags or values. `words` are the words after the program's
 * name. The list is empty if nothing is known, or if the database can't be read.
 */
export async function candidatesFor(program: Command, words: readonly string[]): Promise<Candidate[]> {
  const typed = words.at(-1) ?? '';
  const place = follow(program, words.slice(0, -1));
  const all = await candidatesAt(place, typed);
  if (all[0]?.value === FILES) return all;
  return all.filter(({ value }) => value.startsWith(typed));
}

function follow(program: Command, words: readonly string[]): Place {
  const place: Place = { command: program, args: 0, flag: null };
  // "help keys approve" is completed as "keys approve" is.
  for (const word of words[0] === 'help' ? words.slice(1) : words) {
    if (word.startsWith('-')) {
      const option = flagsOf(place.command).find(({ short, long }) => short === word || long === word);
      place.flag = option?.required || option?.optional ? option : null;
      continue;
    }
    if (place.flag !== null) {
      if (place.flag.long === '--db') place.db = word;
      if (place.flag.long === '--host') place.host = word;
      if (place.flag.long === '--env-file') place.envFile = word;
      // A flag of several values takes words until the next flag.
      if (!place.flag.variadic) place.flag = null;
      continue;
    }
    const next = place.command.commands.find((command) => command.name() === word);
    if (next === undefined) place.args++;
    else Object.assign(place, { command: next, args: 0 });
  }
  return place;
}

async function candidatesAt(place: Place, typed: string): Promise<Candidate[]> {
  const { command, flag } = place;
  if (typed.startsWith('-')) return flagCandidates(command);
  if (flag?.long === '--successor-of') return identifiers(place, ['Active']);
  if (flag !== null) return flagValues(flag);
  if (command.commands.length > 0) {
    if (place.args > 0) return [];
    return command.commands.map((child) => ({ value: child.name(), about: child.description() }));
  }
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[place.args] ?? (last?.variadic ? last : undefined);
  if (argument?.name() === 'identifier') return identifiers(place, statesFor(command.name()));
  if (argument?.name() === 'admin') return admins(place);
  if (argument?.name() === 'token') return tokens(place);
  if (argument?.name() === 'file') return [{ value: FILES, about: '' }];
  if (argument?.name() === 'shell') return plain(['bash', 'zsh', 'fish']);
  return [];
}

function flagCandidates(command: Command): Candidate[] {
  const flags = flagsOf(command).filter(({ hidden }) => !hidden);
  const all = flags.map(({ long, description }) => ({ value: long ?? '', about: description }));
  return [...all, { value: '--help', about: 'display help for command' }];
}

/** The flags of the command itself and those that every command has. */
function flagsOf(command: Command): Option[] {
  return [...command.options, ...(command.parent === null ? [] : flagsOf(command.parent))];
}

function flagValues({ long, flags }: Option): Candidate[] {
  if (long === '--permission') return plain(PERMISSIONS);
  if (long === '--state') return plain(KEY_STATES);
  if (long === '--right') return plain(BACKEND_RIGHTS);
  if (long === '--kind') return plain(LOG_GROUPS.flatMap(({ group, kinds }) => [group, ...kinds]));
  return flags.includes('<path>') ? [{ value: FILES, about: '' }] : [];
}

function plain(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, about: '' }));
}

/** The states of keys that a command of the group `keys` accepts; none where it accepts all. */
function statesFor(verb: string): readonly KeyState[] {
  return ALL_OPERATIONS.find(({ doors }) => doors.command?.verb === verb)?.from ?? [];
}

async function identifiers(place: Place, states: readonly KeyState[]): Promise<Candidate[]> {
  return unlessRefused(async () => {
    const target = await targetFor(place, pathOf(place.command));
    if (target.kind === 'box') {
      return readDatabase(place, (db) => keyNames(db, states).map(keyCandidate));
    }
    return (await keyNamesAt(target.host, states)).map(keyCandidate);
  });
}

function keyCandidate({ identifier, state, profile, name }: KeyName): Candidate {
  return { value: cleanForTerminal(identifier), about: cleanForTerminal(`${state}, ${profile ?? 'erased'}: ${name}`) };
}

function admins(place: Place): Promise<Candidate[]> {
  return fromDatabase(place, (db) => plain(adminNames(db).map((name) => cleanForTerminal(name))));
}

function tokens(place: Place): Promise<Candidate[]> {
  return fromDatabase(place, (db) =>
    tokenNames(db).map(({ identifier, name }) => ({ value: identifier, about: cleanForTerminal(name) })),
  );
}

function fromDatabase(place: Place, read: (db: Db) => Candidate[]): Promise<Candidate[]> {
  return unlessRefused(() => readDatabase(place, read));
}

function readDatabase({ db, envFile }: Place, read: (db: Db) => Candidate[]): Candidate[] {
  const { databasePath } = configOf({ json: false, yes: false, ...(db && { db }), ...(envFile && { envFile }) });
  const opened = openDatabase(databasePath, 'use');
  try {
    return read(withTables(opened));
  } finally {
    opened.$client.close();
  }
}

async function unlessRefused(find: () => Candidate[] | Promise<Candidate[]>): Promise<Candidate[]> {
  try {
    return await find();
  } catch (error) {
    // Without a readable database, or an answer, there is nothing to offer; the command itself will say what is wrong.
    if (error instanceof AppError) return [];
    throw error;
  }
}
