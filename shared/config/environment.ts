import { accessSync, constants } from 'node:fs';
import { AppError } from '../errors.ts';
import { type Source, VARIABLES } from './config.ts';
import { readSmallText } from './files.ts';

/** The variables of a process, with their origins. */
type Environment = {
  /** The effective values. */
  source: Source;
  /** The values with which the process started. */
  inherited: Source;
  /** The file that was read, because of `--env-file` or because the program is installed. */
  file: string | null;
};

/** The settings of an installed program. */
const INSTALLED_SETTINGS = '/etc/profile-lookup/settings';

/**
 * Reads the environment, which takes precedence, and the file of `--env-file`. Without that, and without a database named by
 * `--db` or DATABASE_PATH, it reads the installed settings, if there are any, so that commands on a server need no flags. Throws
 * `bad_config` if the file can't be read, or has a line that {@link parseEnvFile} refuses.
 */
export function readEnvironment(
  given: { envFile?: string | undefined; db?: string | undefined },
  inherited: Source = { ...process.env },
  installed = INSTALLED_SETTINGS,
): Environment {
  const isNamed = given.db !== undefined || inherited.DATABASE_PATH;
  const file = given.envFile ?? (!isNamed && isReadable(installed) ? installed : null);
  if (file === null) return { source: inherited, inherited, file };
  const name = given.envFile === undefined ? 'The installed program' : '--env-file';
  const text = readSmallText({ name, path: file, maxKib: 1_024, code: 'bad_config' });
  return { source: { ...parseEnvFile(file, text), ...inherited }, inherited, file };
}

/** Whether there is such a file. Throws `bad_config` if this user may not read it. */
function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return false;
    const sentence = `${path} has the settings of the installed program, and this user may not read it; use sudo.`;
    throw new AppError('bad_config', sentence);
  }
}

/**
 * Parses a file of lines `NAME=value`. Blank lines and lines that begin with `#` are left out. A value may stand in single or
 * double quotes, between which everything is literal; nothing is expanded. These are refused, since parsers differ in them:
 * `export`, `NAME: value`, blanks around `=`, a `#` or a quote in a value without quotes, backslashes in double quotes or at
 * the end, and a name that is set twice. Throws `bad_config` with the line's number, never with its value.
 */
export function parseEnvFile(path: string, text: string): Source {
  const values: Source = {};
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const fault = (what: string) => new AppError('bad_config', `${path}, line ${at + 1}: ${what}.`);
    if (/^\s*(?:#|$)/.test(line)) continue;
    const [, name, value = ''] = /^\s*([A-Z][A-Z0-9_]*)=(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined)
      throw fault(
        /^\s*export\s/.test(line)
          ? 'leave out "export"'
          : 'write NAME=value, with the name in capitals and no blanks around "="',
      );
    if (!(name in VARIABLES)) {
      throw fault(`${name} is not a variable of this program; there are ${Object.keys(VARIABLES).join(', ')}`);
    }
    if (name in values) throw fault(`${name} is set a second time`);
    values[name] = unquoted(name, value, fault);
  }
  return values;
}

function unquoted(name: string, value: string, fault: (what: string) => AppError): string {
  const quoted = /^(?:'([^']*)'|"([^"\\]*)")$/.exec(value);
  if (quoted !== null) return quoted[1] ?? quoted[2] ?? '';
  if (value.startsWith('"') && value.includes('\\'))
    throw fault(`${name} has a backslash in double quotes; use single quotes`);
  if (value.includes('#'))
    throw fault(`${name} has a "#"; put the value in quotes, or the comment on a line of its own`);
  if (/['"]/.test(value))
    throw fault(`${name} has a quote inside its value; put the whole value in quotes of the other kind`);
  if (value.endsWith('\\')) throw fault(`${name} ends with a backslash; put the value in single quotes`);
  if (/^\s/.test(value)) throw fault(`${name} has a blank after "="`);
  return value;
}
