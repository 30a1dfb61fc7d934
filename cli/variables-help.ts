import { VARIABLES } from '../shared/config/variables.ts';
import { wrapLine } from './output.ts';
import { outputColumns } from './stdout.ts';

/** As wide as Commander's help where the output goes to no terminal, or to one that does not say. */
const DEFAULT_COLUMNS = 80;

const HEAD = `Variables, from the environment or the file that --env-file names, and where the
source is run from .env in the current folder too; an empty one is unset:`;

const NAME_WIDTH = 2 + Math.max(...Object.keys(VARIABLES).map((name) => name.length));

/** Every variable, what it is for and its default, for the help: what the README's table says, made of the same one. */
export function variablesHelp(columns = outputColumns() || DEFAULT_COLUMNS): string {
  const rows = Object.entries(VARIABLES).map(([name, variable]) => {
    const text = variable.default === '' ? variable.meaning : `${variable.meaning} (default: ${variable.default})`;
    const lines = wrapLine(text, columns - NAME_WIDTH - 2);
    return `  ${name.padEnd(NAME_WIDTH)}${lines.join(`\n  ${' '.repeat(NAME_WIDTH)}`)}`;
  });
  return [HEAD, ...rows].join('\n');
}
