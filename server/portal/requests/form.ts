import { AppError } from '../../../shared/errors.ts';
import { FORM, readText } from '../../http/body.ts';
import { queryOf, readPairs } from '../../http/parameters.ts';

/** The fields of a form, with their values in order. */
export type Form = ReadonlyMap<string, readonly string[]>;

/** The value of a field; empty if it was not sent. Throws `bad_form` if it is repeated. */
export function oneValue(form: Form, name: string): string {
  const [value = '', ...others] = form.get(name) ?? [];
  if (others.length > 0) throw new AppError('bad_form');
  return value;
}

/** All values of a field, as of check boxes; none if it was not sent. */
export function allValues(form: Form, name: string): readonly string[] {
  return form.get(name) ?? [];
}

/**
 * The value of a parameter; empty if it is absent. Parameters that no page asks for are ignored, because mail service and other
 * sites add their own. Throws `bad_parameter` for one that is repeated or can't be decoded.
 */
export function queryValue({ request }: { request: Request }, name: string): string {
  const values = readFields(queryOf(request)).get(name) ?? [''];
  const [value] = values;
  if (values.length > 1) throw new AppError('bad_parameter', `${name} may be given only once.`);
  if (value === undefined) throw new AppError('bad_parameter', `${name} must be percent-encoded UTF-8.`);
  return value;
}

/**
 * Reads the body of a form (application/x-www-form-urlencoded, WHATWG URL, section 5.1). Throws what {@link readText} throws, and
 * `bad_form` for malformed encodings.
 */
export async function readForm(request: Request): Promise<Form> {
  const form = readFields(await readText(request, FORM));
  if ([...form].some(([name, values]) => name === '' || values.includes(undefined))) throw new AppError('bad_form');
  return form as Form;
}

/** The names in a query or form with their values in order, undefined for one that can't be decoded. */
function readFields(query: string): Map<string, (string | undefined)[]> {
  const found = new Map<string, (string | undefined)[]>();
  // A name that can't be decoded is nobody's.
  for (const { name, value } of readPairs(query, (sent = '') => sent)) {
    const values = found.get(name);
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  }
  return found;
}
