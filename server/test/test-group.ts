import { relative } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Group } from './test-process.ts';

/** Several test files in one process, each a suite of its own, so that its hooks run before and after its tests. */

const { first, files } = JSON.parse(process.env.RELATA_TEST_GROUP ?? '') as Group;
const load = (path: string) => import(pathToFileURL(path).href);

if (first !== undefined) await load(first);
for (const file of files) describe(relative(process.cwd(), file), () => load(file));
