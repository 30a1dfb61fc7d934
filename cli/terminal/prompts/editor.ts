import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import { notice } from '../output.ts';
import type { TextQuestion } from './question.ts';

const CUT_LINE = '# ------------------------ >8 ------------------------';
const STDERR = 2;

/**
 * Opens an editor, started by the shell command `command`, and returns the text that the person writes in it. If the text is
 * invalid, prints why and calls `askAgain` to ask whether to continue. Throws `cancelled`, and `refused` if the editor fails.
 */
export async function editText(
  command: string,
  question: TextQuestion,
  askAgain: (message: string) => Promise<boolean>,
): Promise<string> {
  let text = question.initial ?? '';
  for (;;) {
    text = await runEditor(command, `${text}\n${instructions(question)}`, question.message);
    const fault = question.fault(text);
    if (fault === null) return text;
    notice(fault);
    if (!(await askAgain('Continue editing?'))) throw new AppError('cancelled');
  }
}

function instructions({ message, hint }: TextQuestion): string {
  return `${CUT_LINE}\n# ${message}: ${hint}\n# Write above the cut line, then save and close. Everything below it is ignored.\n`;
}

/** Opens the editor on a file with this content. Returns the text above the cut line. */
async function runEditor(command: string, content: string, message: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'profilectl-'));
  // Ctrl-C is for the editor while it is open, so this process ignores it.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    const file = join(folder, `${message.toLowerCase().replaceAll(' ', '-')}.txt`);
    writeFileSync(file, content, { mode: 0o600 });
    notice(`${message}: waiting for ${command} to close the file…`);
    // stdout is for results, so the editor writes to stderr, as prompts do.
    const editor = spawn('/bin/sh', ['-c', `${command} "$1"`, 'sh', file], { stdio: ['inherit', STDERR, STDERR] });
    const { promise, resolve } = Promise.withResolvers<boolean>();
    editor.once('error', () => resolve(false)).once('exit', (code) => resolve(code === 0));
    if (!(await promise)) {
      throw new AppError(
        'refused',
        `The editor "${command}" failed; set VISUAL or EDITOR to another one, or unset both.`,
      );
    }
    const [above = ''] = readFileSync(file, 'utf8').split(CUT_LINE);
    return above.trim();
  } finally {
    process.off('SIGINT', ignore);
    rmSync(folder, { recursive: true, force: true });
  }
}
