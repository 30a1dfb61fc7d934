import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../shared/config/config.ts';
import { parseEnvFile } from '../../shared/config/environment.ts';
import { PROJECT } from '../support/cli.ts';

test('settings.example is accepted as it is, and with every line active except file names and secrets', () => {
  const text = readFileSync(join(PROJECT, 'deploy/settings.example'), 'utf8');
  const parse = (lines: string) => readConfig(parseEnvFile('settings.example', lines));
  expect(parse(text).databasePath).toBe('/var/lib/profile-lookup/profiles.db');
  const active = text.replace(/^#(?!\w+_FILE=|METRICS_TOKEN=|PUBLIC_LOGO=)(?=[A-Z_]+=)/gm, '');
  expect(parse(active)).toMatchObject({ publicUrl: 'https://api.example.org', contact: 'support@example.org' });
});
