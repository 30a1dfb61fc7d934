/**
 * The kinds of values. `form` is how a column stores the value: `json` as compact JSON text, `flag` as 0 or 1, `time`
 * as milliseconds since 1970. Kinds of the form `rows` have their own tables. `nullable` is whether null is a value.
 */
export const KINDS = {
  uid: { form: 'number', nullable: false },
  name: { form: 'text', nullable: false },
  names: { form: 'rows', nullable: false },
  authId: { form: 'text', nullable: true },
  email: { form: 'text', nullable: true },
  text: { form: 'text', nullable: false },
  textOrNull: { form: 'text', nullable: true },
  badges: { form: 'json', nullable: false },
  assets: { form: 'json', nullable: false },
  openObject: { form: 'json', nullable: false },
  flag: { form: 'flag', nullable: false },
  count: { form: 'number', nullable: false },
  countOrNull: { form: 'number', nullable: true },
  time: { form: 'time', nullable: false },
  links: { form: 'rows', nullable: false },
} as const;

/** A kind of values. */
export type Kind = keyof typeof KINDS;

/** How a column stores a value. */
export type ColumnForm = Exclude<(typeof KINDS)[Kind]['form'], 'rows'>;
