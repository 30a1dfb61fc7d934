import type { Tx } from '../db/open.ts';

/** TODO(lead): withdraws and revokes, blanks and records; call it before the profile's row is deleted. */
export function eraseKeysOfProfile(_tx: Tx, _profileId: number, _by: string, _nowMs: number): void {}
