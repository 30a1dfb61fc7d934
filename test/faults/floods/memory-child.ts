import { systemClock } from '../../../shared/clock.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { effectsOnKeys } from '../../../shared/erasure/erase-profile.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { exportProfiles } from '../../../shared/profiles/export.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { MAIL_CONFIG } from '../../support/mail.ts';
import { onBox } from '../../support/world.ts';

// Run by memory.test.ts as its own process: imports 100 000 generated profiles, exports them, and prints their counts
// and by how many bytes memory grew after the first tenth.

const LINES = 100_000;
const [path = '', mode = ''] = process.argv.slice(2);
const db = withTables(openDatabase(path, 'fill'));

function* made(): Generator<Uint8Array> {
  for (let from = 1; from <= LINES; from += 500) {
    const lines = Array.from({ length: 500 }, (_, index) => line(from + index));
    yield Buffer.from(lines.join(''));
  }
}

function line(id: number): string {
  const links = [{ id: 'l1', name: 'github', link: `https://example.com/${id}` }];
  const profile = {
    id,
    username: `user${id}`,
    aliases: [`alias-${id}`],
    authId: `auth0|${id}`,
    customize: { n: id },
    links,
  };
  return `${JSON.stringify(profile)}\n`;
}

let first = 0;
let most = 0;
function measure(done: number): void {
  const used = process.memoryUsage.rss();
  if (done <= LINES / 10) first = Math.max(first, used);
  most = Math.max(most, used);
}

const { imported } = await importProfiles({ db, clock: systemClock }, made(), {
  merge: false,
  strict: mode === 'strict',
  by: onBox('test'),
  onKeys: effectsOnKeys(onBox('test'), MAIL_CONFIG),
  onProgress: ({ lines }) => measure(lines),
});
measure(imported);
const importGrowth = most - first;
let exported = 0;
const before = process.memoryUsage.rss();
await exportProfiles(db, (chunk) => {
  exported += chunk.split('\n').length - 1;
  most = Math.max(most, process.memoryUsage.rss());
});
const exportGrowth = Math.max(0, most - before);
process.stdout.write(JSON.stringify({ imported, exported, importGrowth, exportGrowth }));
