import { VARIABLES } from '../../shared/config/variables.ts';
import { wrapLine } from '../terminal/output.ts';
import { outputColumns } from '../terminal/stdout.ts';

/** The width if that of the terminal is unknown; Commander's default. */
const DEFAULT_COLUMNS = 80;

const HEAD = `Variables are read from the environment, the file given with --env-file and,
when run from source, .env in the current folder. Empty variables count as
unset:`;

const NAME_WIDTH = 2 + Math.max(...Object.keys(VARIABLES).map((name) => name.length));

/** The table of all variables with meaning and default, wrapped at `columns`. */
export function variablesHelp(columns = outputColumns() || DEFAULT_COLUMNS): string {
  const rows = Object.entries(VARIABLES).map(([name, variable]) => {
    const text = variable.default === '' ? variable.meaning : `${variable.meaning} (default: ${variable.default})`;
    const lines = wrapLine(text, columns - NAME_WIDTH - 2);
    return `  ${name.padEnd(NAME_WIDTH)}${lines.join(`\n  ${' '.repeat(NAME_WIDTH)}`)}`;
  });
  return [HEAD, ...rows].join('\n');
}
