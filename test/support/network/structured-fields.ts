/** A bare item of a structured field, of the kinds in rate-limit headers: a token is `{ token }`. */
export type BareItem = number | string | boolean | { token: string };

/** An item with its parameters, in order. */
export type Item = { value: BareItem; parameters: Map<string, BareItem> };

/**
 * Parses a field as a List of Items (RFC 9651, sections 4.2.1 to 4.2.7), strictly. Throws if it is not one, and also
 * for empty lists, inner lists, byte sequences, dates and display strings.
 */
export function parseItems(field: string): Item[] {
  // Only ASCII, and no white space except SP at either end.
  if (!/^[\x20-\x7e\t]*$/.test(field)) throw new Error(`not ASCII: ${JSON.stringify(field)}`);
  const input = { text: field.replace(/^ +| +$/g, ''), at: 0 };
  const items: Item[] = [];
  for (;;) {
    items.push(parseItem(input));
    consume(input, /[ \t]*/y);
    if (input.at === input.text.length) return items;
    expectNext(input, /,/y, 'comma');
    consume(input, /[ \t]*/y);
  }
}

type Input = { text: string; at: number };

function consume(input: Input, pattern: RegExp): string | null {
  pattern.lastIndex = input.at;
  const found = pattern.exec(input.text)?.[0] ?? null;
  if (found !== null) input.at += found.length;
  return found;
}

function expectNext(input: Input, pattern: RegExp, what: string): string {
  const found = consume(input, pattern);
  if (found === null) throw new Error(`no ${what} at ${input.at} of ${JSON.stringify(input.text)}`);
  return found;
}

function parseItem(input: Input): Item {
  const value = parseBareItem(input);
  const parameters = new Map<string, BareItem>();
  while (consume(input, /;/y) !== null) {
    consume(input, / */y);
    const key = expectNext(input, /[a-z*][a-z0-9_\-.*]*/y, 'key');
    const named = consume(input, /=/y) !== null;
    // A key may be repeated, and then its last value wins; but clients should not need to know that.
    if (parameters.has(key)) throw new Error(`${key} twice in ${JSON.stringify(input.text)}`);
    parameters.set(key, named ? parseBareItem(input) : true);
  }
  return { value, parameters };
}

function parseBareItem(input: Input): BareItem {
  const text = consume(input, /"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/y);
  if (text !== null) return text.slice(1, -1).replace(/\\(.)/g, '$1');
  const decimal = consume(input, /-?\d{1,12}\.\d{1,3}(?![\d.])/y);
  if (decimal !== null) return Number(decimal);
  const integer = consume(input, /-?\d{1,15}(?![\d.])/y);
  if (integer !== null) return Number(integer);
  const flag = consume(input, /\?[01]/y);
  if (flag !== null) return flag === '?1';
  return { token: expectNext(input, /[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/y, 'item') };
}
