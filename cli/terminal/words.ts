/** Whether `--json` is among the arguments, for what happens before Commander has read them. */
export function isJsonAsked(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).includes('--json');
}

/** Whether an argument has U+FFFD, which the runtime puts in the place of bytes that are not UTF-8. */
export function isSuspicious(word: string): boolean {
  return word.includes('\uFFFD');
}

/** A word as a shell reads it. */
export function quoted(word: string): string {
  return /^[\w.,:/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
