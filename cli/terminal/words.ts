/** Whether `--json` is among the arguments, for what happens before Commander has read them. */
export function isJsonAsked(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end === -1 ? words.length : end).includes('--json');
}

/** Whether an argument contains U+FFFD, with which the runtime replaces bytes that are not UTF-8. */
export function isSuspicious(word: string): boolean {
  return word.includes('\uFFFD');
}
