import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import type { Changes } from '../../shared/profiles/edit/change.ts';
import { KINDS } from '../../shared/profiles/field-kinds.ts';
import { FIELD_LIST, type ProfileFieldName } from '../../shared/profiles/field-values.ts';
import { cleanForTerminal, parseJson } from '../../shared/text.ts';
import { changeOne } from './change.ts';

const SETTABLE = FIELD_LIST.filter(({ isFixed }) => isFixed !== true).map(({ name, kind }) => ({
  name,
  ...KINDS[kind],
}));

/** The fields whose values are typed as plain text or as JSON, and those that can be null. */
const TEXTS = namesOf(({ form }) => form === 'text' || form === 'time');
const OTHERS = namesOf(({ form }) => form !== 'text' && form !== 'time');
const NULLABLE = namesOf(({ nullable }) => nullable);

function namesOf(isOne: (field: (typeof SETTABLE)[number]) => boolean): ProfileFieldName[] {
  return SETTABLE.filter(isOne).map(({ name }) => name);
}

/** Adds `profiles set`, which changes some fields of one profile. */
export function addTo(parent: Command): void {
  parent
    .command('set')
    .description('Change some fields of a profile.')
    .argument('<username>', "the profile's username or one of its aliases")
    .argument('<field=value...>', 'fields and values, as in a line of an import')
    .addHelpText(
      'after',
      `
Plain text: ${TEXTS.join(', ')}.
JSON: ${OTHERS.slice(0, 6).join(', ')},
  ${OTHERS.slice(6).join(', ')}.
"field=" without a value clears ${NULLABLE.join(', ')}.
Values are checked as in an import; either all fields are changed or none. customize, discordClean and assets are published
as they are.

Examples:
  profilectl profiles set ada displayName="Ada Lovelace" email=ada@example.org
  profilectl profiles set ada viewsCount=12 'badges=[{"name":"early","enabled":true}]'
  profilectl profiles set ada authId=`,
    )
    .action((username: string, assignments: string[], _options: unknown, command: Command) => {
      const changes = parseAssignments(assignments);
      return changeOne(command, username, () => changes);
    });
}

function parseAssignments(assignments: readonly string[]): Changes {
  const changes: Changes = {};
  const fields = [...TEXTS, ...OTHERS];
  for (const assignment of assignments) {
    const [, name = '', text = ''] = /^([^=]*)=(.*)$/s.exec(assignment) ?? [];
    const field = fields.find((known) => known === name);
    if (field === undefined) {
      const fault = name === '' ? 'Expected field=value' : `${cleanForTerminal(name)} can't be set`;
      throw new AppError('usage', `${fault}; the fields are ${fields.join(', ')}.`);
    }
    if (field in changes) throw new AppError('usage', `${field} is given twice.`);
    if (text === '' && !NULLABLE.includes(field)) throw new AppError('usage', `${field} may not be empty.`);
    changes[field] = text === '' ? null : parseValue(field, text);
  }
  return changes;
}

function parseValue(field: ProfileFieldName, text: string): unknown {
  if (TEXTS.includes(field)) return text;
  const value = parseJson(text);
  if (value !== undefined) return value;
  throw new AppError('usage', `The value of ${field} must be JSON, such as 12, true, ["a"] or {"a":1}.`);
}
