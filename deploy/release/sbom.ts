import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { PROJECT } from './processes.ts';
import { BUN_VERSION, TARGETS } from './targets.ts';

/** The dependencies of a package in the lock file, by name, with the allowed versions. */
type Needs = Partial<
  Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string>> & {
    optionalPeers: string[];
  }
>;

/** A package of the lock file: name and version, registry, dependencies, and SHA-512 in base64. */
type Locked = [id: string, registry: string, needs: Needs, integrity: string];

type Lockfile = {
  workspaces: { '': { dependencies: Record<string, string>; devDependencies: Record<string, string> } };
  packages: Record<string, Locked>;
};

/**
 * A bill of materials in CycloneDX 1.6, as JSON: every package of the lock file, and Bun's executables. `scope` is `required`
 * for dependencies of the program, peers included, and `excluded` for development dependencies. `time` is that of the commit.
 */
export function makeSbom(time: Date): string {
  const lockfile = Bun.JSONC.parse(readFileSync(join(PROJECT, 'bun.lock'), 'utf8')) as Lockfile;
  const { packages } = lockfile;
  const { dependencies, devDependencies } = lockfile.workspaces[''];
  const rootNeeds = neededBy(packages, '', { dependencies });
  const required = reachedFrom(packages, rootNeeds);
  const components = Object.entries(packages).map(([place, locked]) => componentOf(place, locked, required.has(place)));
  const links = Object.entries(packages).map(([place, [, , needs]]) => ({
    ref: place,
    dependsOn: neededBy(packages, place, needs),
  }));
  const name = manifest.name;
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: time.toISOString(),
      component: { type: 'application', 'bom-ref': name, name, version: manifest.version },
    },
    components: [...TARGETS.map(bunComponent), ...components],
    dependencies: [
      {
        ref: name,
        dependsOn: [
          ...TARGETS.map(({ package: bun }) => bun),
          ...rootNeeds,
          ...neededBy(packages, '', { dependencies: devDependencies }),
        ],
      },
      ...links,
    ],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

function componentOf(place: string, [id, , , integrity]: Locked, isRequired: boolean) {
  const at = id.lastIndexOf('@');
  return npmComponent(place, id.slice(0, at), id.slice(at + 1), integrity, isRequired);
}

function bunComponent(target: (typeof TARGETS)[number]) {
  return npmComponent(target.package, target.package, BUN_VERSION, target.integrity, true);
}

function npmComponent(ref: string, id: string, version: string, integrity: string, isRequired: boolean) {
  const [group, name] = id.startsWith('@') ? (id.split('/') as [string, string]) : [null, id];
  return {
    type: 'library',
    'bom-ref': ref,
    ...(group === null ? {} : { group }),
    name,
    version,
    scope: isRequired ? 'required' : 'excluded',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
    purl: `pkg:npm/${id.replace('@', '%40')}@${version}`,
  };
}

/** The places of a package's dependencies, without optional peers and packages that are not locked. */
function neededBy(packages: Lockfile['packages'], place: string, needs: Needs): string[] {
  const peers = Object.keys(needs.peerDependencies ?? {}).filter((name) => !needs.optionalPeers?.includes(name));
  const names = [...Object.keys(needs.dependencies ?? {}), ...Object.keys(needs.optionalDependencies ?? {}), ...peers];
  return [...new Set(names)].flatMap((name) => placeOf(packages, place, name) ?? []);
}

/** Where a package finds another: in its own `node_modules`, or in that of an enclosing package. */
function placeOf(packages: Lockfile['packages'], from: string, name: string): string | null {
  for (let around = from; ; around = aroundOf(packages, around)) {
    const place = around === '' ? name : `${around}/${name}`;
    if (place in packages) return place;
    if (around === '') return null;
  }
}

/** The place of the package whose `node_modules` contains this one; empty at the top level. */
function aroundOf(packages: Lockfile['packages'], place: string): string {
  const parts = place.split('/');
  while (parts.length > 0) {
    parts.pop();
    if (parts.join('/') in packages) break;
  }
  return parts.join('/');
}

function reachedFrom(packages: Lockfile['packages'], first: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const waiting = [...first];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (reached.has(place)) continue;
    reached.add(place);
    waiting.push(...neededBy(packages, place, (packages[place] as Locked)[2]));
  }
  return reached;
}
