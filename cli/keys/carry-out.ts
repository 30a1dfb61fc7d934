import { AppError } from '../../shared/errors.ts';
import { isLongText } from '../../shared/keys/inputs.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import { joinWords } from '../../shared/text.ts';
import type { Context } from '../context.ts';
import { columnsOf, notice } from '../terminal/output.ts';
import { confirm } from '../terminal/prompts.ts';
import { isAsking, retryIfChanged } from '../terminal/values.ts';
import { performAndPrint, readKey, unlessChanged } from './context.ts';
import { askField, fieldText, flagName, refuseMissing } from './inputs.ts';
import { factsText, keyText } from './print.ts';

type Values = Record<string, unknown>;

/**
 * Performs an operation that changes a key. On a terminal without `--yes`, shows the key, prompts for missing inputs, and asks
 * for confirmation. Throws `usage` if an input is missing and can't be asked for, `cancelled`, and the errors of the operation.
 */
export async function carryOut(
  context: Context,
  operation: AnyOperation,
  identifier: string,
  given: Values,
): Promise<void> {
  const isAsked = isAsking(context.yes);
  if (!isAsked) {
    if (operation.keepsRest && Object.keys(given).length === 0) throw nothingToChange(operation);
    refuseMissing(operation, given);
  }
  // Long texts are kept, so that they need not be typed again if the key has changed.
  const typed: Values = {};
  await retryIfChanged(isAsked, async () => {
    const now = unlessChanged(context, { identifier });
    const input = isAsked ? await decide(now, operation, identifier, { given, typed }) : given;
    const { mailedTo } = await performAndPrint(now, operation, { identifier, ...input });
    if (isAsked && mailedTo !== undefined) notice(`The secret was mailed to ${mailedTo}.`);
  });
}

function nothingToChange(operation: AnyOperation): AppError {
  const flags = flaggedInputs(operation).map(([, schema]) => flagName(schema));
  return new AppError('usage', `Specify what to change: ${joinWords(flags, 'or')}.`);
}

/**
 * Shows the key, prompts for the inputs missing in `given` unless the given ones are enough, shows everything to be confirmed,
 * and asks for confirmation. Returns the input; typed long texts are stored in `typed`. Throws `cancelled`, and the refusal of
 * the operation, before the first prompt if that is possible.
 */
async function decide(
  context: Context,
  operation: AnyOperation,
  identifier: string,
  { given, typed }: { given: Values; typed: Values },
): Promise<Values> {
  const { deps } = context;
  const key = await readKey(context, identifier);
  const input: Values = { ...given, ...typed };
  const alsoConfirmed = operation.check(deps, key);
  notice(`${keyText(key, columnsOf(process.stderr))}\n`);
  const defaults = operation.defaults(deps, key);
  const isEnough = operation.keepsRest && Object.keys(input).length > 0;
  const shown = isEnough ? { ...input } : defaults;
  const fields = flaggedInputs(operation).filter(([name]) => name in shown);
  const asked = fields.filter(([name]) => input[name] === undefined);
  const { title, consequence } = operation.texts;
  for (let isFirst = true; ; isFirst = false) {
    for (const [name, schema] of asked) {
      input[name] = await askField({
        schema,
        initial: isFirst ? defaults[name] : input[name],
        isCurrent: operation.keepsRest || !isFirst,
        nowMs: () => deps.clock.nowMs(),
      });
      if (isLongText(schema)) typed[name] = input[name];
    }
    const facts = [...fields.map(([name, schema]) => fieldText(schema, input[name])), ...alsoConfirmed];
    notice([...(facts.length === 0 ? [] : [factsText(facts, columnsOf(process.stderr))]), consequence].join('\n\n'));
    if (await confirm(`${title} ${identifier}?`)) return input;
    if (asked.length === 0) throw new AppError('cancelled');
    notice('\nChange what you typed, or press Ctrl-C to leave everything as it is.\n');
  }
}
