import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { makeSbom } from '../../deploy/release/sbom.ts';
import { TARGETS } from '../../deploy/release/targets.ts';
import { VERSION } from '../../shared/version.ts';
import { PROJECT } from '../support/cli.ts';
import { SOURCES } from '../support/source/sources.ts';

// The bill of materials (SBOM) is checked against the CycloneDX schema, the lock file, and the program's imports.

type Component = {
  'bom-ref': string;
  group?: string;
  name: string;
  version: string;
  scope: 'required' | 'excluded';
  purl: string;
  hashes: { content: string }[];
};

const TEXT = makeSbom(new Date('2026-01-02T03:04:05Z'));
const BOM = JSON.parse(TEXT) as {
  metadata: object;
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

const { packages } = Bun.JSONC.parse(readFileSync(join(PROJECT, 'bun.lock'), 'utf8')) as {
  packages: Record<string, [id: string, registry: string, needs: object, integrity: string]>;
};

const componentAt = (place: string) => BOM.components.find((component) => component['bom-ref'] === place);

test('the SBOM is valid against the CycloneDX 1.6 schema', () => {
  const schemas = join(PROJECT, 'node_modules/@cyclonedx/cyclonedx-library/res/schema');
  const readSchema = (name: string) => JSON.parse(readFileSync(join(schemas, name), 'utf8'));
  const ajv = new Ajv({ strict: false });
  addFormats(ajv);
  // Our packages do not implement these formats, and the SBOM does not use them.
  for (const format of ['idn-email', 'iri-reference']) ajv.addFormat(format, true);
  for (const name of ['spdx.SNAPSHOT.schema.json', 'jsf-0.82.SNAPSHOT.schema.json'])
    ajv.addSchema(readSchema(name), `http://cyclonedx.org/schema/${name}`);
  const isValid = ajv.compile(readSchema('bom-1.6.SNAPSHOT.schema.json'));
  expect([isValid(BOM), isValid.errors]).toEqual([true, null]);
  expect(isValid({ ...BOM, components: [...BOM.components, BOM.components[0]] })).toBe(false);
  expect(isValid({ ...BOM, components: [{ ...BOM.components[0], scope: 'some' }] })).toBe(false);
});

test('the SBOM has every package of the lock file with its version and hash, and the Bun executables', () => {
  expect(BOM.metadata).toEqual({
    timestamp: '2026-01-02T03:04:05.000Z',
    component: { type: 'application', 'bom-ref': 'profile-lookup', name: 'profile-lookup', version: VERSION },
  });
  expect(BOM.components.length).toBe(Object.keys(packages).length + TARGETS.length);
  for (const [place, [id, , , integrity]] of Object.entries(packages)) {
    const { group, name, version, hashes, purl } = componentAt(place) as Component;
    expect([group, name].filter(Boolean).join('/').concat(`@${version}`)).toBe(id);
    expect(`sha512-${Buffer.from(hashes[0]?.content ?? '', 'hex').toString('base64')}`).toBe(integrity);
    expect(decodeURIComponent(purl)).toBe(`pkg:npm/${id}`);
  }
  expect(TARGETS.filter((target) => componentAt(target.package)?.scope !== 'required')).toEqual([]);
});

test('packages that the program imports are required, and those that only tests use are not', () => {
  const isPackage = (name: string) =>
    !/^(node:|bun:|bun$|\.|server\/|cli\/|shared\/|package\.json|drizzle\/)/.test(name);
  const packageOf = (name: string) =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/');
  // The OpenAPI documents are generated when the program is built, or earlier; the program does not contain the generator.
  const isInProgram = (path: string) =>
    /^(server|cli|shared)\//.test(path) && !/^server\/(docs\/(openapi\/|write\.ts)|manage\/document\/)/.test(path);
  const product = SOURCES.filter(({ path }) => isInProgram(path));
  const imported = new Set(product.flatMap(({ imports }) => imports.filter(isPackage).map(packageOf)));
  expect(imported.size).toBeGreaterThan(5);
  for (const name of imported)
    if (name in packages) expect([name, componentAt(name)?.scope]).toEqual([name, 'required']);
  for (const name of ['playwright-core', 'fast-check', 'smtp-server', '@biomejs/biome']) {
    expect([name, componentAt(name)?.scope]).toEqual([name, 'excluded']);
  }
});

test('the SBOM lists the dependencies of each package, by the place in the lock file to which they resolve', () => {
  const dependsOn = (ref: string) => BOM.dependencies.find((entry) => entry.ref === ref)?.dependsOn;
  expect(dependsOn('profile-lookup')).toEqual(expect.arrayContaining(['elysia', 'zod', '@oven/bun-linux-aarch64']));
  expect(dependsOn('elysia')).toContain('memoirist');
  // If two versions of a package are installed, each dependent resolves to its own.
  expect(dependsOn('inquirer')).toContain('inquirer/@inquirer/type');
  expect(dependsOn('@inquirer/core')).not.toContain('inquirer/@inquirer/type');
  const refs = ['profile-lookup', ...BOM.components.map((component) => component['bom-ref'])];
  expect(new Set(refs).size).toBe(refs.length);
  const unknown = BOM.dependencies
    .flatMap((entry) => [entry.ref, ...entry.dependsOn])
    .filter((ref) => !refs.includes(ref));
  expect(unknown).toEqual([]);
});
