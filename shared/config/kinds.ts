import * as z from 'zod/mini';

// Kinds of variables. They use zod/mini, because every command that reads the configuration loads them: in the binary, zod/mini
// takes 2.5 ms and 3 MiB for all variables, and zod with its methods 8 ms and 9 MiB.

/** A kind of variable: the schema of its text, and its rule, which follows the variable's name in errors. */
export type Kind<T> = { rule: string; schema: z.ZodMiniType<T, string> };

/** A string that `parse` converts to a value; null refuses it. */
export function parsed<T>(rule: string, parse: (text: string) => T | null): Kind<T> {
  const read = z.transform((text: string, { issues }): T => {
    const value = parse(text);
    if (value !== null) return value;
    issues.push({ code: 'custom', input: text });
    return z.NEVER;
  });
  return { rule, schema: z.pipe(z.string(), read) };
}

/** A string that `isValid` accepts, unchanged. */
export function text(rule: string, isValid: (text: string) => boolean): Kind<string> {
  return { rule, schema: z.string().check(z.refine(isValid)) };
}

/** One of these words. */
export function oneOf<const T extends string>(allowed: readonly T[]): Kind<T> {
  return { rule: `must be one of ${allowed.join(', ')}`, schema: z.pipe(z.string(), z.enum(allowed)) };
}

/** A whole number in decimal digits, from `min` to `max`. */
export function wholeNumber(min: number, max: number): Kind<number> {
  const digits = z.string().check(z.regex(/^\d{1,9}$/));
  const bounded = z.int().check(z.minimum(min), z.maximum(max));
  return {
    rule: `must be a whole number from ${min} to ${max}`,
    schema: z.pipe(z.pipe(digits, z.transform(Number)), bounded),
  };
}

/** Accepts the same strings as another kind, and converts their values with `make`. */
export function mapped<T, Made>({ rule, schema }: Kind<T>, make: (value: T) => Made): Kind<Made> {
  return { rule, schema: z.pipe(schema, z.transform(make)) };
}

/** `on` or `off`, as a boolean. */
export function onOrOff(): Kind<boolean> {
  return mapped(oneOf(['on', 'off']), (text) => text === 'on');
}
