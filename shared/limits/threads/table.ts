// The hash table of the accounts in shared memory, with open addressing. A slot has three words: the two words of the
// identifier, the first of which is 0 in an empty slot, and the position of the account's region.

/** An identifier (8 ASCII characters) as two words; the first is never 0. */
export function wordsOfIdentifier(text: string): [first: number, second: number] {
  const word = (at: number) => [0, 1, 2, 3].reduce((sum, more) => sum | (text.charCodeAt(at + more) << (8 * more)), 0);
  return [word(0), word(4)];
}

/** The reverse of {@link wordsOfIdentifier}. */
export function identifierOfWords(first: number, second: number): string {
  const bytes = Buffer.from(new Int32Array([first, second]).buffer);
  return bytes.toString('latin1').replaceAll('\0', '');
}

/** The index of the slot with this identifier, or of the empty slot where the identifier belongs. */
export function placeOf(places: Int32Array, first: number, second: number): number {
  let place = homeOf(places, first, second);
  while (places[place] !== 0 && (places[place] !== first || places[place + 1] !== second)) {
    place = (place + 3) % places.length;
  }
  return place;
}

function homeOf(places: Int32Array, first: number, second: number): number {
  const mixed = Math.imul(Math.imul(first, 0x9e3779b1) ^ second, 0x85ebca6b);
  return (((mixed ^ (mixed >>> 15)) >>> 0) % (places.length / 3)) * 3;
}

/** Empties a slot. Entries behind it move up where they can, so that no search ends early at the gap. */
export function emptyPlace(places: Int32Array, place: number): void {
  let hole = place;
  for (let next = (hole + 3) % places.length; places[next] !== 0; next = (next + 3) % places.length) {
    const home = homeOf(places, places[next] as number, places[next + 1] as number);
    const isBetween = hole <= next ? hole < home && home <= next : hole < home || home <= next;
    if (isBetween) continue;
    places.copyWithin(hole, next, next + 3);
    hole = next;
  }
  places.fill(0, hole, hole + 3);
}
