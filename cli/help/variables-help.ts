import { VARIABLES } from '../../shared/config/variables.ts';
import { wrapLine } from '../terminal/output.ts';
import { outputColumns } from '../terminal/stdout.ts';

/** The width if the output is no terminal, or one that does not tell: the same as in Commander's help. */
const DEFAULT_COLUMNS = 80;

const HEAD = `Variables, from the environment or the file that --env-file names, and where the
source is run from .env in the current folder too; an empty one is unset:`;

const NAME_WIDTH = 2 + Math.max(...Object.keys(VARIABLES).map((name) => name.length));

/** The help's table of all variables with meaning and default. It is made of the same table as the one in the documents. */
export function variablesHelp(columns = outputColumns() || DEFAULT_COLUMNS): string {
  const rows = Object.entries(VARIABLES).map(([name, variable]) => {
    const text = variable.default === '' ? variable.meaning : `${variable.meaning} (default: ${variable.default})`;
    const lines = wrapLine(text, columns - NAME_WIDTH - 2);
    return `  ${name.padEnd(NAME_WIDTH)}${lines.join(`\n  ${' '.repeat(NAME_WIDTH)}`)}`;
  });
  return [HEAD, ...rows].join('\n');
}
