import { setTimeout as pause } from 'node:timers/promises';
import type { RelationDefinition } from '../../server/src/relations/relation-definitions/relation-schemas.ts';
import { streamBodies } from '../support/catalogs.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { type Bodies, runFullUpdate, type TaskAnswer, waitUntilFinished } from '../support/service-client.ts';
import { FIRST_VERSION, identifierOf } from '../support/synthetic-products.ts';
import { ATTRIBUTES, TAGS } from './relation-rules.ts';

/** Synthetic products of a project with relations: the products 0 to `count`. */
export interface RelatedCatalog {
  readonly service: BenchService;
  readonly projectId: number;
  readonly count: number;
}

export interface WantedCatalog {
  readonly name: string;
  readonly count: number;
  readonly definitions: readonly RelationDefinition[];
}

/** Creates the relations before the products. */
export async function loadRelated(service: BenchService, wanted: WantedCatalog): Promise<RelatedCatalog> {
  const { name, count, definitions } = wanted;
  const projectId = await createRelatedProject(service, { name, definitions });
  await runFullUpdate(service, projectId, { bodies: streamBodies(count, FIRST_VERSION) as Bodies });
  await waitUntilQuiet(service.pid);
  return { service, projectId, count };
}

export async function createRelatedProject(
  service: BenchService,
  { name, definitions }: Pick<WantedCatalog, 'name' | 'definitions'>,
): Promise<number> {
  const projectId = await service.createProject(name);
  const project = `/management/projects/${projectId}`;
  await service.succeed('PUT', `${project}/ontology`, { mode: 'automatic', attributes: ATTRIBUTES });
  for (const definition of definitions) await service.succeed('POST', `${project}/relations`, definition);
  while ((await listRelations(service, projectId)).some(({ state }) => state !== 'ready')) await pause(20);
  return projectId;
}

interface ListedRelation {
  readonly id: number;
  readonly name: string;
  readonly state: 'building' | 'ready' | 'misconfigured';
  readonly problem?: string;
}

/** @throws Error if one of them cannot work */
export async function listRelations(
  service: BenchService,
  projectId: number,
): Promise<readonly ListedRelation[]> {
  const path = `/management/projects/${projectId}/relations`;
  const { items } = await service.succeed<{ items: readonly ListedRelation[] }>('GET', path);
  const broken = items.find(({ state }) => state === 'misconfigured');
  if (broken !== undefined) throw new Error(`the relation ${broken.name} cannot work: ${broken.problem}`);
  return items;
}

/** Changes one product, which invalidates all earlier answers. */
export async function forgetAnswers({ service, projectId, count }: RelatedCatalog): Promise<void> {
  const price = (performance.now() % 900).toFixed(2);
  const body = { products: [{ identifier: identifierOf(count - 1), attributes: { Price: `${price} EUR` } }] };
  const path = `/products?projectId=${projectId}&partial=true`;
  const { task } = await service.succeed<TaskAnswer>('POST', path, body);
  await waitUntilFinished(service, task.id);
  await waitUntilQuiet(service.pid);
}

/** Coprime to 10, so its multiples reach every product of a catalog before one repeats. */
const STRIDE = 618_033_989;

/** @returns products from the whole catalog, the same in every run */
export const sourceAt = (place: number, count: number) => identifierOf((place * STRIDE) % count);

export interface WantedBulk {
  readonly perRequest: number;
  readonly limit: number;
  readonly requests: number;
  /** The number of sources reserved for other requests. */
  readonly skipped?: number;
}

/** @returns requests for all relations of the three tags */
export function listBulkPaths({ projectId, count }: RelatedCatalog, wanted: WantedBulk): string[] {
  const { perRequest, limit, requests, skipped = 0 } = wanted;
  const query = `projectId=${projectId}&includeTags=${encodeTags(limit)}`;
  return Array.from({ length: requests }, (_, request) => {
    const chosen = Array.from({ length: perRequest }, (_, at) =>
      sourceAt(skipped + request * perRequest + at, count),
    );
    const identifiers = encodeURIComponent(JSON.stringify(chosen));
    return `/search/relations/bulk-results?${query}&identifiers=${identifiers}`;
  });
}

export function listSinglePaths(
  { projectId, count }: RelatedCatalog,
  { limit, requests }: { limit: number; requests: number },
): string[] {
  const query = `projectId=${projectId}&includeTags=${encodeTags(limit)}`;
  return Array.from(
    { length: requests },
    (_, at) => `/search/relations/result?${query}&identifier=${sourceAt(at, count)}`,
  );
}

const encodeTags = (limit: number) =>
  encodeURIComponent(JSON.stringify(TAGS.map((tag) => ({ tag, limitPerRelation: limit }))));
