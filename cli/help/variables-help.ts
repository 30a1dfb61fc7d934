import { VARIABLES } from '../../shared/config/variables.ts';
import { wrapLine } from '../terminal/output.ts';
import { outputColumns } from '../terminal/stdout.ts';

/** The width if the output is no terminal, or one of unknown width: the same as in Commander's help. */
const DEFAULT_COLUMNS = 80;

const HEAD = `Variables, from the environment or the file of --env-file; if run from source,
also from .env in the current folder. An empty one counts as unset:`;

const NAME_WIDTH = 2 + Math.max(...Object.keys(VARIABLES).map((name) => name.length));

/** The help's table of all variables with meaning and default, wrapped at `columns`. */
export function variablesHelp(columns = outputColumns() || DEFAULT_COLUMNS): string {
  const rows = Object.entries(VARIABLES).map(([name, variable]) => {
    const text = variable.default === '' ? variable.meaning : `${variable.meaning} (default: ${variable.default})`;
    const lines = wrapLine(text, columns - NAME_WIDTH - 2);
    return `  ${name.padEnd(NAME_WIDTH)}${lines.join(`\n  ${' '.repeat(NAME_WIDTH)}`)}`;
  });
  return [HEAD, ...rows].join('\n');
}
