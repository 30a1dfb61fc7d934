import type { Command } from 'commander';
import { OPERATIONS } from '../../shared/operations.ts';
import { columnsOf, print, printJson } from '../terminal/output.ts';
import { addCommand } from './command.ts';
import { historyText, keyText } from './print.ts';

/** Adds `keys show`, which shows a key and its history. */
export function addTo(parent: Command): void {
  addCommand(parent, OPERATIONS.show, async ({ perform, json }, { identifier }) => {
    const { key, history } = await perform(OPERATIONS.show, { identifier });
    if (json) printJson({ ...key, history });
    else print(`${keyText(key, columnsOf(process.stdout))}\n\n${historyText(history)}`);
  });
}
