/**
 * Writes the bill of materials of the package that `npm run package` has made, in the format CycloneDX, to
 * `package/dist/`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Component, keepShipped } from './release-rules.ts';

const ROOT = join(import.meta.dirname, '..');
const OUT = 'package/dist';
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Bill {
  readonly metadata: { readonly component: { readonly 'bom-ref': string; readonly name: string } };
  readonly components: readonly (Component & { readonly 'bom-ref': string })[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** npm lists everything in the clone, including build and test packages. The bill keeps only what is in the package. */
function makeBill(): Bill {
  const flags = ['--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  const all = execFileSync('npm', ['sbom', ...flags], { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 });
  const bill = JSON.parse(all) as Bill;
  const root = bill.metadata.component['bom-ref'];
  const components = keepShipped(bill.components, read('dist/THIRD-PARTY-LICENCES.md'));
  const kept = new Set(components.map((one) => one['bom-ref']));
  return {
    ...bill,
    metadata: { ...bill.metadata, component: { ...bill.metadata.component, name: 'relata' } },
    components,
    dependencies: [
      { ref: root, dependsOn: [...kept] },
      ...bill.dependencies
        .filter(({ ref }) => kept.has(ref))
        .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) })),
    ],
  };
}

const { version } = JSON.parse(read('package.json')) as { version: string };
const bill = makeBill();
const path = `${OUT}/relata-${version}.cdx.json`;
mkdirSync(join(ROOT, OUT), { recursive: true });
writeFileSync(join(ROOT, path), `${JSON.stringify(bill, null, 2)}\n`);
process.stdout.write(`${path}: ${bill.components.length} packages\n`);
