import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { cleanEnvironment } from '../../support/cli.ts';
import { tempFolder } from '../../support/world.ts';

const MIB = 1_048_576;

for (const mode of ['batches', 'strict']) {
  test(`the memory of imports and exports does not grow with the file: ${mode}`, async () => {
    const result = await run(mode);
    expect(result).toMatchObject({ imported: 100_000, exported: 100_000 });
    expect(result.importGrowth).toBeLessThan(64 * MIB);
    expect(result.exportGrowth).toBeLessThan(64 * MIB);
  }, 120_000);
}

async function run(mode: string): Promise<Record<string, number>> {
  const words = [process.execPath, join(import.meta.dir, 'memory-child.ts'), join(tempFolder(), 'profiles.db'), mode];
  // Not with the settings of test processes, which keep freed memory.
  const child = Bun.spawn(words, { env: cleanEnvironment(), stdout: 'pipe', stderr: 'inherit' });
  return JSON.parse(await new Response(child.stdout).text());
}
