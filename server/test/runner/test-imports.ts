import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ROOT } from './test-marks.ts';

/** @returns the paths of our files from which a file imports values */
export function listImports(path: string): string[] {
  const imports = readFileSync(path, 'utf8').matchAll(
    /^(?:import|export)\b(?! type\b)[^;]*?\bfrom '(\.[^']+)';$/gms,
  );
  return [...imports].map(([, target = '']) => resolve(dirname(path), target));
}

/** @returns whether the imports of a test file lead to a module; the imports of the service never do */
export function leadsTo(path: string, module: string, seen = new Set<string>()): boolean {
  if (path === module) return true;
  const isTest = path.startsWith(join(ROOT, 'server/test/')) || path.endsWith('.test.ts');
  if (seen.has(path) || !isTest) return false;
  seen.add(path);
  return listImports(path).some((target) => leadsTo(target, module, seen));
}
