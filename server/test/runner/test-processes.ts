import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { type Flag, type PassName, ROOT, type TestFile } from './test-marks.ts';

/** The files that run in one environment. */
export interface Pass {
  readonly name: PassName;
  readonly files: readonly TestFile[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Files that share a process. The first start of the service in a process takes 2.7 s more processor time than the next
 * starts, which is most of the time of a short file. The memory of a file is freed only when the process ends.
 */
const MOST_TOGETHER = 6;
/** Processes that start first, so that the last process is not a long one. */
const FIRST: readonly Flag[] = ['slow', 'waits'];
const CONSOLE_SETUP = join(ROOT, 'console/test/harness.ts');

/** @returns the files of each process, the slow ones first */
export function groupFiles(files: readonly TestFile[]): TestFile[][] {
  const isFirst = ({ flags }: TestFile) => FIRST.some((flag) => flags.has(flag));
  const short = files.filter(({ flags }) => flags.size === 0);
  const own = files
    .filter(({ flags }) => flags.size > 0)
    .sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
  const count = Math.ceil(short.length / MOST_TOGETHER);
  const groups = Array.from({ length: count }, (_, group) =>
    short.filter((_, index) => index % count === group),
  );
  return [...own.map((file) => [file]), ...groups];
}

/**
 * A module that Node's runner runs in its own process. Each file becomes a suite, so the hooks of a file run only
 * before and after its own tests. A process that ends before all suites have ended fails.
 */
const describeGroup = (
  { name, env }: Pass,
  files: readonly TestFile[],
) => `import { after, describe } from 'node:test';
Object.assign(process.env, ${JSON.stringify(env)});
${name === 'console' ? `await import(${JSON.stringify(CONSOLE_SETUP)});` : ''}
let open = 0;
process.on('exit', () => { if (open > 0) process.exitCode = 1; });
for (const [title, path] of ${JSON.stringify(files.map(({ path }) => [`${name}: ${relative(ROOT, path)}`, path]))}) {
  open += 1;
  describe(title, async () => {
    await import(path);
    after(() => { open -= 1; });
  });
}
`;

/**
 * Writes the modules of the processes of a pass into a folder.
 * @returns their paths, those first that should start first
 */
export function writeGroups(pass: Pass, folder: string): string[] {
  mkdirSync(join(folder, pass.name), { recursive: true });
  return groupFiles(pass.files).map((files, index) => {
    const others = files.length > 1 ? '-and-others' : '';
    const path = join(
      folder,
      pass.name,
      `${index}-${basename(files[0]?.path ?? '', '.test.ts')}${others}.mjs`,
    );
    writeFileSync(path, describeGroup(pass, files));
    return path;
  });
}
