// The hash table of the accounts in shared memory, with open addressing. A slot has three words: two for the identifier, of which
// the first is 0 in an empty slot, and the position of the account's region.

/** Converts an identifier (8 ASCII characters) to two words; the first is never 0. */
export function wordsOfIdentifier(text: string): [first: number, second: number] {
  const word = (at: number) => [0, 1, 2, 3].reduce((sum, more) => sum | (text.charCodeAt(at + more) << (8 * more)), 0);
  return [word(0), word(4)];
}

/** The inverse of {@link wordsOfIdentifier}. */
export function identifierOfWords(first: number, second: number): string {
  const bytes = Buffer.from(new Int32Array([first, second]).buffer);
  return bytes.toString('latin1').replaceAll('\0', '');
}

/** The index of the slot with this identifier, or of the empty slot for it. */
export function slotOf(slots: Int32Array, first: number, second: number): number {
  let slot = homeSlotOf(slots, first, second);
  while (slots[slot] !== 0 && (slots[slot] !== first || slots[slot + 1] !== second)) {
    slot = (slot + 3) % slots.length;
  }
  return slot;
}

function homeSlotOf(slots: Int32Array, first: number, second: number): number {
  const mixed = Math.imul(Math.imul(first, 0x9e3779b1) ^ second, 0x85ebca6b);
  return (((mixed ^ (mixed >>> 15)) >>> 0) % (slots.length / 3)) * 3;
}

/** Empties a slot. Entries behind it move up if they can, so that no search ends early at the gap. */
export function emptySlot(slots: Int32Array, slot: number): void {
  let hole = slot;
  for (let next = (hole + 3) % slots.length; slots[next] !== 0; next = (next + 3) % slots.length) {
    const home = homeSlotOf(slots, slots[next] as number, slots[next + 1] as number);
    const isBetween = hole <= next ? hole < home && home <= next : hole < home || home <= next;
    if (isBetween) continue;
    slots.copyWithin(hole, next, next + 3);
    hole = next;
  }
  slots.fill(0, hole, hole + 3);
}
